// Passes a text on while it grows. When its replica dies, another one writes the text again from the beginning, and no part
// is passed on twice.
import { ServiceError } from '../domain/service-error.ts'

/**
 * @param mayRepeat false if the pieces have log-probabilities, which cannot be told apart from those of another try
 * @returns a sink for the pieces of each try; it throws when the new text differs (a temperature without a seed)
 */
export function createGrowingText(
  onText: (piece: string, logprobs?: unknown) => void,
  { mayRepeat }: { mayRepeat: boolean } = { mayRepeat: true },
): () => (piece: string, logprobs?: unknown) => void {
  let shown = ''
  let isBegun = false
  return () => {
    if (!mayRepeat && isBegun) throw brokenOff()
    let text = ''
    return (piece, logprobs) => {
      isBegun = true
      if (!mayRepeat) return onText(piece, logprobs)
      text += piece
      const [shorter, longer] = text.length < shown.length ? [text, shown] : [shown, text]
      if (!longer.startsWith(shorter)) throw brokenOff()
      if (text.length <= shown.length) return
      onText(text.slice(shown.length))
      shown = text
    }
  }
}

const brokenOff = () =>
  new ServiceError('unavailable', 'The model server was lost in the middle of the answer. Send the request again.', {
    retryAfterSeconds: 1,
  })
