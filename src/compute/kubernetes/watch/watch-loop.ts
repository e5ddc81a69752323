// How a run is watched, whatever it is made of: by the cache that all watchers share, and by the API server where that
// cache cannot be relied on.
import { isDeepStrictEqual } from 'node:util'
import type { Compute, EndState, RunState } from '../../compute.ts'
import { isEndState } from '../../end-state.ts'
import { coalesce } from '../../coalesce.ts'
import type { Informers } from './informers.ts'
import type { RunListener } from './subscriptions.ts'

export type WatchOptions = Parameters<Compute['watch']>[1]

export type WatchedRun = {
  name: string
  cache: Pick<Informers, 'start' | 'isLoading' | 'trouble'> & {
    subscribe: (runName: string, listener: RunListener) => () => void
  }
  /** By the cache; null where that knows nothing of this run. */
  believe: () => RunState | null
  /** Whether the cache suffices for this. */
  isProven: (state: RunState) => boolean
  /** By the API server. */
  ask: () => Promise<RunState>
}

/** A run of which the cache knows nothing is asked for by itself; it should not be long. */
const askAgainMs = 1_000

export async function watchState(run: WatchedRun, { signal, onState }: WatchOptions): Promise<EndState> {
  signal.throwIfAborted()
  const { cache } = run
  cache.start()
  const { promise, resolve, reject } = Promise.withResolvers<EndState>()
  let last: RunState | undefined
  let askedAtMs = -Infinity
  let timer: NodeJS.Timeout | undefined
  const check = coalesce(async () => {
    if (cache.isLoading()) return
    const believed = believe(run)
    const proven = believed && run.isProven(believed) ? believed : await askNow()
    if (signal.aborted || proven === null) return
    if (!isDeepStrictEqual(proven, last)) onState?.((last = proven))
    if (isEndState(proven)) resolve(proven)
  }, reject)

  async function askNow(): Promise<RunState | null> {
    const waitMs = askedAtMs + askAgainMs - performance.now()
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

function believe({ cache, believe }: WatchedRun): RunState | null {
  const message = cache.trouble()
  return message === null ? believe() : { state: 'unreachable', message }
}
