import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'

/**
 * The next message of a thread that answers each with one, and is asked by nobody else meanwhile.
 * @throws what ended the thread, or the signal's reason
 */
export async function askThread(thread: Worker, question: unknown, signal?: AbortSignal): Promise<unknown> {
  const over = new AbortController()
  const stopping = { signal: signal ? AbortSignal.any([signal, over.signal]) : over.signal }
  const ended = once(thread, 'exit', stopping).then(([code]) => {
    throw new Error(`the thread ended with ${code}`)
  })
  const answered = once(thread, 'message', stopping).then(([answer]) => answer as unknown)
  thread.postMessage(question)
  try {
    return await Promise.race([answered, ended])
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  } finally {
    over.abort()
  }
}

/** Of what memory a thread has asked for in vain. */
export const neededTooMuchMemory = (error: unknown) =>
  error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
