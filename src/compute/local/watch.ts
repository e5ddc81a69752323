import { watch as watchFolder } from 'node:fs'
import type { FSWatcher } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { coalesce } from '../coalesce.ts'
import { isEndState } from '../run.ts'
import type { EndState, RunState, WatchOptions } from '../run.ts'

const checkEveryMs = 1_000

type RunWatcher = {
  watch(name: string, look: () => Promise<RunState>, options: WatchOptions): Promise<EndState>
}

/** Checks each watched run when its folder changes, and all of them every second: a kill -9 writes no file. */
export function createRunWatcher(runsDir: string): RunWatcher {
  const checks = new Set<() => void>()
  let timer: NodeJS.Timeout | undefined

  function start(check: () => void): void {
    checks.add(check)
    timer ??= setInterval(() => checks.forEach((each) => each()), checkEveryMs)
  }

  function stop(check: () => void): void {
    checks.delete(check)
    if (checks.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  async function watch(
    name: string,
    look: () => Promise<RunState>,
    { signal, onState }: WatchOptions,
  ): Promise<EndState> {
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<EndState>()
    let last: RunState | undefined
    const check = coalesce(async () => {
      const state = await look()
      if (signal.aborted || !checks.has(check)) return
      if (!isDeepStrictEqual(state, last)) onState?.((last = state))
      if (isEndState(state)) resolve(state)
    }, reject)
    const abort = () => reject(signal.reason as Error)
    signal.addEventListener('abort', abort, { once: true })
    start(check)
    const folder = watchQuietly(join(runsDir, name), check)
    check()
    try {
      return await promise
    } finally {
      folder?.close()
      stop(check)
      signal.removeEventListener('abort', abort)
    }
  }

  return { watch }
}

/** Null if the folder cannot be watched (no inotify left, no folder yet): the timer notices the changes later. */
function watchQuietly(folder: string, onChange: () => void): FSWatcher | null {
  try {
    const watcher = watchFolder(folder, onChange)
    watcher.on('error', () => watcher.close())
    return watcher
  } catch {
    return null
  }
}
