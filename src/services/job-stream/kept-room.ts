// How many bytes of messages the feeds of an account keep in one process. Followers that are behind what is kept read from the
// database, so an account that is out of room loses nothing.
import type { NumberedMessage } from './messages.ts'

/** The least memory of a message without its texts. */
const messageBytes = 300

/** The part of an account's room that one feed has. */
export type KeptRoom = {
  take: (sizeBytes: number) => void
  giveBack: (sizeBytes: number) => void
  isOver: () => boolean
}

export function createKeptRooms(maxBytesOfAccount: number) {
  const taken = new Map<string, number>()
  const bytesOf = (accountId: string) => taken.get(accountId) ?? 0
  const add = (accountId: string, sizeBytes: number) => {
    const bytes = bytesOf(accountId) + sizeBytes
    if (bytes > 0) taken.set(accountId, bytes)
    else taken.delete(accountId)
  }
  return {
    of: (accountId: string): KeptRoom => ({
      take: (sizeBytes) => add(accountId, sizeBytes),
      giveBack: (sizeBytes) => add(accountId, -sizeBytes),
      isOver: () => bytesOf(accountId) > maxBytesOfAccount,
    }),
    bytesOf,
  }
}

/** Lines of logs and sentences are what makes a message large. A batch also keeps its text as bytes once it was sent. */
export const sizeOf = (messages: readonly NumberedMessage[]): number =>
  messages.reduce((sum, { message }) => sum + messageBytes + 3 * textLengthOf(message), 0)

function textLengthOf({ event, data }: NumberedMessage['message']): number {
  if (event === 'log') return data.line.length
  return 'message' in data ? (data.message?.length ?? 0) : 0
}
