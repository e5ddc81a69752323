// The timeout of a request, which each answer of an engine starts anew: a long batch may take its time, and an engine that
// hangs holds nobody.
import { withAbort } from './abortable.ts'

/** Runs `work` with a signal that also aborts, with the error of `late`, when `onAnswer` was not called for `timeoutMs`. */
export function whileAnswered<T>(
  signal: AbortSignal,
  { timeoutMs, late }: { timeoutMs: number; late: () => Error },
  work: (signal: AbortSignal, onAnswer: () => void) => Promise<T>,
): Promise<T> {
  return withAbort(signal, async (own) => {
    const timer = setTimeout(() => own.abort(late()), timeoutMs)
    try {
      return await work(own.signal, () => timer.refresh())
    } finally {
      clearTimeout(timer)
    }
  })
}
