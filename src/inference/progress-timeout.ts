// The deadline of a request, which every answer of an engine puts off: a long batch takes its time, and an engine that hangs
// keeps nobody.
import { withAbort } from './abortable.ts'

/** `work` gets a signal that also aborts, with what `late` makes, when `onAnswer` has not been called for `timeoutMs`. */
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
