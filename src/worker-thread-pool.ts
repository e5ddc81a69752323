// Worker threads for work that would block the event loop. A thread costs a quarter of a second of processor time to start
// and tens of megabytes, so the pool is small and its threads are reused. Callers wait while all are busy; the next turn is the one of whoever has least.
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker, type Transferable } from 'node:worker_threads'
import { createTurns } from './turns.ts'

const keptIdleMs = 30_000

/**
 * Sends one question and waits for its one answer.
 * @param given buffers of the question that the thread gets without a copy; they are empty here afterwards
 * @throws the error that ended the thread, or the signal's reason
 */
export type Ask = (question: unknown, given?: readonly Transferable[]) => Promise<unknown>

type ThreadOptions = {
  atMost: number
  /** Threads that one account may hold at once. */
  atMostOfAccount?: number
  /** V8 heap limit of a thread. A thread that needs more ends; see `neededTooMuchMemory`. */
  heapLimitMegabytes: number
  workerData?: unknown
}

export function createThreads(module: URL, { atMost, atMostOfAccount, heapLimitMegabytes, workerData }: ThreadOptions) {
  const idle: { thread: Worker; ending: NodeJS.Timeout }[] = []
  const turns = createTurns({ atMost, atMostOfAccount: atMostOfAccount ?? atMost })

  function take(): Worker {
    const kept = idle.pop()
    clearTimeout(kept?.ending)
    return kept?.thread ?? start()
  }

  function start(): Worker {
    // No environment: a thread reads no settings, and under `node --test --watch` one that inherits it stops the watch
    // (https://github.com/nodejs/node/issues/65044).
    const resourceLimits = { maxOldGenerationSizeMb: heapLimitMegabytes }
    const thread = new Worker(module, { workerData, resourceLimits, env: {} })
    // `ask()` rejects; this handler only keeps the process alive.
    thread.on('error', () => undefined)
    thread.once('exit', () => forget(thread))
    thread.unref()
    return thread
  }

  function keep(thread: Worker) {
    idle.push({ thread, ending: setTimeout(() => void thread.terminate(), keptIdleMs).unref() })
  }

  function forget(thread: Worker) {
    const at = idle.findIndex((each) => each.thread === thread)
    if (at >= 0) clearTimeout(idle.splice(at, 1)[0]?.ending)
  }

  return {
    /** Threads that are lent to the account. */
    lentTo: (account: string) => turns.heldBy(account),

    /**
     * Lends a thread to `work` alone. The thread is reused unless `work` throws. Owners of waiting work take turns.
     * @throws as `work`, or the signal's reason
     */
    async use<T>(work: (ask: Ask) => Promise<T>, signal?: AbortSignal, account = ''): Promise<T> {
      signal?.throwIfAborted()
      await turns.take(account, signal)
      const thread = take()
      try {
        const result = await work((question, given) => ask(thread, { question, given }, signal))
        keep(thread)
        return result
      } catch (error) {
        void thread.terminate()
        throw error
      } finally {
        turns.giveBack(account)
      }
    },
  }
}

/** For work in `use`, whose error ends the thread. @throws `late()` when the work takes longer */
export async function within<T>(atMostMs: number, work: Promise<T>, late: () => Error): Promise<T> {
  const over = Symbol('over')
  const result = await Promise.race([work, sleep(atMostMs, over, { ref: false })])
  if (result === over) throw late()
  return result as T
}

/** @param error the error that ended a thread */
export const neededTooMuchMemory = (error: unknown) =>
  error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'

type Message = { question: unknown; given: readonly Transferable[] | undefined }

async function ask(thread: Worker, { question, given }: Message, signal?: AbortSignal): Promise<unknown> {
  const over = new AbortController()
  const stopping = { signal: signal ? AbortSignal.any([signal, over.signal]) : over.signal }
  const failed = (event: string, why: (first: unknown) => unknown) =>
    once(thread, event, stopping).then(([first]) => {
      throw why(first)
    })
  const ended = failed('exit', (code) => new Error(`the thread ended with ${String(code)}`))
  // The thread wrote a message that cannot be deserialised here.
  const unreadable = failed('messageerror', (error) => error)
  const answered = once(thread, 'message', stopping).then(([answer]) => answer as unknown)
  thread.postMessage(question, given)
  try {
    return await Promise.race([answered, ended, unreadable])
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  } finally {
    over.abort()
    void Promise.allSettled([answered, ended, unreadable])
  }
}
