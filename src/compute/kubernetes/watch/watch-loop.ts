// Watches one run: in the cache that all watchers share, and at the API server if the cache is not enough.
import { isDeepStrictEqual } from 'node:util'
import { coalesce } from '../../coalesce.ts'
import { isEndState } from '../../run.ts'
import type { EndState, RunState, WatchOptions } from '../../run.ts'
import type { Informers } from './informers.ts'
import type { RunListener } from './subscriptions.ts'

type WatchedRun<State extends RunState> = {
  name: string
  cache: Pick<Informers, 'start' | 'isLoading' | 'trouble'> & {
    subscribe: (runName: string, listener: RunListener) => () => void
  }
  /** Null if the cache has no object of this run. */
  readCache: () => State | null
  /** Whether the cache alone proves this state. */
  isCertain: (state: State) => boolean
  /** Asks the API server. */
  ask: () => Promise<State>
}

/** How often the API server is asked about a run that the cache lacks, which is soon over. */
const askIntervalMs = 1_000

export async function watchState<State extends RunState>(
  run: WatchedRun<State>,
  { signal, onState }: WatchOptions<State>,
): Promise<EndState> {
  signal.throwIfAborted()
  const { cache } = run
  cache.start()
  const { promise, resolve, reject } = Promise.withResolvers<EndState>()
  let last: State | undefined
  let askedAtMs = -Infinity
  let timer: NodeJS.Timeout | undefined
  const check = coalesce(async () => {
    if (cache.isLoading()) return
    const cached = readCurrent(run)
    const state = cached && run.isCertain(cached) ? cached : await askNow()
    if (signal.aborted || state === null) return
    if (!isDeepStrictEqual(state, last)) onState?.((last = state))
    if (isEndState(state)) resolve(state)
  }, reject)

  async function askNow(): Promise<State | null> {
    const waitMs = askedAtMs + askIntervalMs - performance.now()
    if (waitMs > 0) {
      clearTimeout(timer)
      timer = setTimeout(check, waitMs)
      return null
    }
    askedAtMs = performance.now()
    return run.ask()
  }

  const abort = () => reject(signal.reason as Error)
  signal.addEventListener('abort', abort, { once: true })
  const unsubscribe = cache.subscribe(run.name, { onChange: check })
  check()
  try {
    return await promise
  } finally {
    unsubscribe()
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
  }
}

function readCurrent<State extends RunState>({ cache, readCache }: WatchedRun<State>): State | null {
  const message = cache.trouble()
  return message === null ? readCache() : ({ state: 'unreachable', message } as State)
}
