// The background loops of the worker share this: abort, wake-up, back-off with jitter and logging.
import { setTimeout } from 'node:timers/promises'
import type { Log } from '../log.ts'

export type Loop = {
  name: string
  /** Does what is due. @returns milliseconds until the next pass, unless a wake-up comes first; 'done' ends the loop */
  pass: (signal: AbortSignal) => Promise<number | 'done'>
  /** Calls `wake` when there may be work. @returns the function that unsubscribes */
  subscribe?: (wake: () => void) => () => void
  /** Waits for work that a pass has left in progress. */
  drain?: () => Promise<unknown>
}

const firstBackOffMs = 500
const maxBackOffMs = 5000

/** Runs until `signal` aborts or a pass is done; never rejects. A pass that throws is repeated after a back-off. */
export async function runLoop(
  { name, pass, subscribe, drain }: Loop,
  {
    log,
    signal,
    sleep = sleepUntilAborted,
  }: { log: Pick<Log, 'warn'>; signal: AbortSignal; sleep?: typeof sleepUntilAborted },
): Promise<void> {
  let wake = new AbortController()
  const unsubscribe = subscribe?.(() => wake.abort())
  for (let failures = 0; !signal.aborted;) {
    // Created before the pass: a wake-up that comes during a pass starts the next one at once.
    wake = new AbortController()
    try {
      const waitMs = await pass(signal)
      if (waitMs === 'done') break
      failures = 0
      if (waitMs > 0) await sleep(waitMs, AbortSignal.any([signal, wake.signal]))
    } catch (error) {
      if (signal.aborted) break
      const retryInMs = backOffMs(failures++)
      log.warn({ loop: name, err: error, retryInMs }, 'background loop failed')
      await sleep(retryInMs, signal)
    }
  }
  unsubscribe?.()
  await drain?.()
}

/** Half of it is random, so that workers do not retry in step. */
function backOffMs(failures: number): number {
  const longestMs = Math.min(firstBackOffMs * 2 ** failures, maxBackOffMs)
  return Math.round(longestMs * (0.5 + Math.random() / 2))
}

const sleepUntilAborted = (ms: number, signal: AbortSignal): Promise<unknown> =>
  setTimeout(ms, undefined, { signal }).catch(() => undefined)
