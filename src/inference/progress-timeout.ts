// The timeout of a request, which each answer of an engine starts anew: a long batch may take its time, and an engine that
// hangs holds nobody.
import { withAbort } from './abortable.ts'

/**
 * Runs `work` with a signal that also aborts, with the error of `late`, when `onAnswer` was not called for `timeoutMs`.
 * @param isWaiting the work waits for its turn, which comes: then the time starts anew
 */
export function whileAnswered<T>(
  signal: AbortSignal,
  { timeoutMs, late, isWaiting }: { timeoutMs: number; late: () => Error; isWaiting: () => boolean },
  work: (signal: AbortSignal, onAnswer: () => void) => Promise<T>,
): Promise<T> {
  return withAbort(signal, async (own) => {
    let timer: NodeJS.Timeout | undefined
    const startTime = () => {
      clearTimeout(timer)
      timer = setTimeout(() => (isWaiting() ? startTime() : own.abort(late())), timeoutMs)
    }
    startTime()
    try {
      return await work(own.signal, startTime)
    } finally {
      clearTimeout(timer)
    }
  })
}
