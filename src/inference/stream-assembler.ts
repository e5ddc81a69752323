// A text that is handed on while it grows. When the replica that writes it dies, the next one writes it again from its
// beginning, and what was handed on already is not handed on twice.
import { ServiceError } from '../domain/service-error.ts'

/** @returns for each try what takes its pieces; it throws when the new text is another one (a temperature without a seed) */
export function createGrowingText(onText: (piece: string) => void): () => (piece: string) => void {
  let shown = ''
  return () => {
    let text = ''
    return (piece) => {
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
  new ServiceError('unavailable', 'The model server was lost in the middle of the answer; ask again.', {
    retryAfterSeconds: 1,
  })
