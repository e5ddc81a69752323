// A bound on what one request may bring into memory, counted while the answers of its engines arrive.
import { invalidInput } from './service-error.ts'

export type AnswerRoom = { take: (bytes: number) => void; giveBack: (bytes: number) => void }

/** Several calls may share one. `take` throws ServiceError invalid_input once the room is used up. */
export function createAnswerRoom(limitBytes: number): AnswerRoom {
  let left = limitBytes
  return {
    take(bytes) {
      left -= bytes
      if (left < 0) throw tooLarge(limitBytes)
    },
    giveBack(bytes) {
      left += bytes
    },
  }
}

const tooLarge = (limitBytes: number) =>
  invalidInput(
    'body',
    `The answer of this request has more than ${limitBytes / 1024 / 1024} MiB. Ask for fewer prompts, tokens or log-probabilities at once.`,
  )
