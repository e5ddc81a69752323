// Reads the log of an attempt from a cursor on. The worker copies the log to the object store while the program runs.
import { storageKeys } from '../../domain/storage-keys.ts'
import type { JobCursor } from '../../domain/job-cursor.ts'
import type { JobNews } from '../../repositories/job-feed.ts'
import type { Storage } from '../../storage/storage.ts'
import type { StreamMessage } from './messages.ts'

/** A longer line is cut. */
const readBytes = 64 * 1024
const linesAtOnce = 1000
const newline = 0x0a

type LogNews = {
  messages: StreamMessage[]
  /** The place where the next read begins. */
  next: Pick<JobCursor, 'attempt' | 'offset'>
  hasMore: boolean
}

/** Reads whole lines; the last line of an ended attempt may lack its end. */
export async function readLogLines(
  storage: Pick<Storage, 'readRange'>,
  jobId: number,
  { log, currentAttempt }: Pick<JobNews, 'log' | 'currentAttempt'>,
  { attempt, offset }: Pick<JobCursor, 'attempt' | 'offset'>,
): Promise<LogNews> {
  const nothing = { messages: [], next: { attempt, offset }, hasMore: false }
  if (log === null) return nothing
  const { bytes: knownBytes, isReleased } = log
  const isUnread = knownBytes === null ? isReleased : offset < knownBytes
  const range = { offset, limit: readBytes }
  const { bytes, sizeBytes } = isUnread ? await storage.readRange(storageKeys.log(jobId, attempt), range) : noBytes
  const isAtEnd = offset + bytes.length >= sizeBytes
  const whole = bytes.subarray(0, wholeLines(bytes, { isLast: isReleased && isAtEnd }))
  const messages = linesOf(whole, { attempt, offset })
  const readTo = messages.at(-1)?.move.offset ?? offset
  const hasMore = readTo < offset + whole.length || (!isAtEnd && whole.length > 0)
  const isOver = isReleased && !hasMore && currentAttempt > attempt
  return {
    messages,
    next: isOver ? { attempt: attempt + 1, offset: 0 } : { attempt, offset: readTo },
    hasMore: isOver || hasMore,
  }
}

const noBytes = { bytes: Buffer.alloc(0), sizeBytes: 0 }

function wholeLines(bytes: Buffer, { isLast }: { isLast: boolean }): number {
  if (isLast) return bytes.length
  const end = bytes.lastIndexOf(newline) + 1
  return end === 0 && bytes.length === readBytes ? bytes.length : end
}

type LogLine = StreamMessage & { move: { offset: number } }

function linesOf(bytes: Buffer, { attempt, offset }: Pick<JobCursor, 'attempt' | 'offset'>): LogLine[] {
  const messages: LogLine[] = []
  for (let from = 0; from < bytes.length && messages.length < linesAtOnce;) {
    const found = bytes.indexOf(newline, from)
    const end = found === -1 ? bytes.length : found + 1
    const line = bytes.toString('utf8', from, found === -1 ? end : found).replace(/\r$/, '')
    messages.push({ event: 'log', data: { attempt, line }, move: { attempt, offset: offset + end } })
    from = end
  }
  return messages
}
