// The threads that check data sets. One takes a quarter of a second of processor time to start and some tens of
// megabytes, so they are used again, and are few: a thousand jobs that come at once take turns.
import { Worker } from 'node:worker_threads'
import { askThread } from '../ask-thread.ts'
import type { DatasetSettings, DatasetTask, TaskAnswer } from './dataset-thread.ts'

const threadsAtMost = 4
const keptIdleMs = 30_000
/** Of V8's heap; one row of the largest size takes a fifth of it. */
const heapLimitMegabytes = 1024

export function createDatasetThreads(settings: DatasetSettings) {
  const idle: { thread: Worker; ending: NodeJS.Timeout }[] = []
  const waiting: PromiseWithResolvers<void>[] = []
  let busy = 0

  async function turn(signal?: AbortSignal): Promise<void> {
    if (busy < threadsAtMost) return void busy++
    const mine = Promise.withResolvers<void>()
    waiting.push(mine)
    const leave = () => {
      const at = waiting.indexOf(mine)
      if (at >= 0) waiting.splice(at, 1)
      mine.reject(signal?.reason as Error)
    }
    signal?.addEventListener('abort', leave)
    await mine.promise.finally(() => signal?.removeEventListener('abort', leave))
  }

  function take(): Worker {
    const kept = idle.pop()
    clearTimeout(kept?.ending)
    return kept?.thread ?? start(settings)
  }

  function keep(thread: Worker) {
    const forget = () => {
      const at = idle.findIndex((each) => each.thread === thread)
      if (at >= 0) idle.splice(at, 1)
      void thread.terminate()
    }
    idle.push({ thread, ending: setTimeout(forget, keptIdleMs).unref() })
  }

  return {
    /** @throws what ended the thread, or the signal's reason */
    async run(task: DatasetTask, signal?: AbortSignal): Promise<TaskAnswer> {
      signal?.throwIfAborted()
      await turn(signal)
      const thread = take()
      try {
        const answer = (await askThread(thread, task, signal)) as TaskAnswer
        keep(thread)
        return answer
      } catch (error) {
        void thread.terminate()
        throw error
      } finally {
        const next = waiting.shift()
        if (next) next.resolve()
        else busy--
      }
    },
  }
}

function start(settings: DatasetSettings): Worker {
  const thread = new Worker(new URL('./dataset-thread.ts', import.meta.url), {
    workerData: settings,
    resourceLimits: { maxOldGenerationSizeMb: heapLimitMegabytes },
  })
  // Who waits for its answer hears of it.
  thread.on('error', () => undefined)
  thread.unref()
  return thread
}
