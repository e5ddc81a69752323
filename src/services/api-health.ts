const timeoutMs = 5000
const lookAgainMs = 5000
/** Nobody looked for so long: nothing is known about the time between. */
const longestGapMs = 60_000

/** How long the internal API has been ready, as far as this process has seen; asks when it is asked. */
export function createApiHealth(internalUrl: string) {
  let soundSinceMs: number | null = null
  let lookedAtMs = -Infinity
  let looking: Promise<void> | null = null

  async function look() {
    const isReady = await fetch(`${internalUrl}/readyz`, { signal: AbortSignal.timeout(timeoutMs) }).then(
      ({ ok }) => ok,
      () => false,
    )
    const now = performance.now()
    if (!isReady) soundSinceMs = null
    else if (soundSinceMs === null || now - lookedAtMs > longestGapMs) soundSinceMs = now
    lookedAtMs = now
  }

  return {
    async soundForMs(): Promise<number> {
      if (performance.now() - lookedAtMs > lookAgainMs) {
        looking ??= look().finally(() => (looking = null))
        await looking
      }
      return soundSinceMs === null ? 0 : performance.now() - soundSinceMs
    },
  }
}
