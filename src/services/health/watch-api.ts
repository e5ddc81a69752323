import { setTimeout as sleep } from 'node:timers/promises'

const lookEveryMs = 5000
/** Longer than the time limits within /readyz. */
const timeoutMs = 3000

/** Polls the internal API all the time and knows for how long it has been ready without an interruption. */
export function watchApiHealth(internalUrl: string, everyMs = lookEveryMs) {
  /** A longer gap between polls means that this process stood still. */
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
