// The timeout of a request, which each answer of an engine starts anew: a long batch may take its time, and an engine that
// hangs holds nobody.
import { followAbort } from './abortable.ts'

/**
 * The signal also aborts, with the error of `late`, when `onAnswer` was not called for `timeoutMs`.
 * @param isWaiting the work waits for its turn, which comes: then the time starts anew
 */
export function startProgressTimeout(
  outer: AbortSignal,
  { timeoutMs, late, isWaiting }: { timeoutMs: number; late: () => Error; isWaiting: () => boolean },
): { signal: AbortSignal; onAnswer: () => void } & Disposable {
  const own = followAbort(outer)
  let timer: NodeJS.Timeout | undefined
  const onAnswer = () => {
    clearTimeout(timer)
    timer = setTimeout(() => (isWaiting() ? onAnswer() : own.abort(late())), timeoutMs)
  }
  onAnswer()
  return {
    signal: own.signal,
    onAnswer,
    [Symbol.dispose]() {
      clearTimeout(timer)
      own[Symbol.dispose]()
    },
  }
}
