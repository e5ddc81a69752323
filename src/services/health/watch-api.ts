import { setTimeout as sleep } from 'node:timers/promises'

const lookEveryMs = 5000
/** Longer than /readyz waits for what it asks. */
const timeoutMs = 3000

/** How long the internal API has been ready, as far as this process has seen: it looks all the time, for an outage between two looks would count as soundness. */
export function watchApiHealth(internalUrl: string, everyMs = lookEveryMs) {
  /** Later than that, this process itself stood still. */
  const longestGapMs = 2 * everyMs + timeoutMs
  let soundSinceMs: number | null = null
  let lookedAtMs = -Infinity

  const isFresh = () => performance.now() - lookedAtMs <= longestGapMs

  async function look() {
    const isReady = await fetch(`${internalUrl}/readyz`, { signal: AbortSignal.timeout(timeoutMs) }).then(
      ({ ok }) => ok,
      () => false,
    )
    const now = performance.now()
    if (!isReady) soundSinceMs = null
    else if (soundSinceMs === null || !isFresh()) soundSinceMs = now
    lookedAtMs = now
  }

  void (async () => {
    for (;;) {
      await look()
      await sleep(everyMs, undefined, { ref: false })
    }
  })()
  return {
    soundForMs: () => (soundSinceMs === null || !isFresh() ? 0 : performance.now() - soundSinceMs),
  }
}
