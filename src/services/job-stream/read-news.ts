import type { JobCursor } from '../../domain/job-cursor.ts'
import { isTerminal } from '../../domain/training-job-status.ts'
import type { JobNews } from '../../repositories/job-feed.ts'
import type { Storage } from '../../storage/storage.ts'
import { readLogLines } from './log-lines.ts'
import { messagesOf, numbered, type NumberedMessage } from './messages.ts'

const pageSize = 500

export type StateAtEnd = Pick<JobNews, 'status' | 'statusReason' | 'statusMessage' | 'modelName'>

export type Page = {
  messages: NumberedMessage[]
  /** The cursor of a follower that has had them all. */
  after: JobCursor
  hasMore: boolean
  /** Set when the job has ended and the page is its last one. */
  end: StateAtEnd | null
  /** The error that kept the log from being read, or null. The rest of the page is complete. */
  logFailure: unknown
}

type ReadDependencies = {
  storage: Storage
  /** One statement; see job-feed.ts. */
  newsSince: (jobId: number, cursor: JobCursor, limit: number) => Promise<JobNews | null>
}

/** Reads what is new since the cursor, a page at a time. @returns null when there is no such job any more */
export async function readNews(
  { storage, newsSince }: ReadDependencies,
  jobId: number,
  cursor: JobCursor,
): Promise<Page | null> {
  const news = await newsSince(jobId, cursor, pageSize)
  if (!news) return null
  const isWhole = news.events.length < pageSize && news.steps.length < pageSize
  const told = messagesOf(news, cursor, { isWhole })
  let logFailure: unknown = null
  const noLog = { messages: [], next: { attempt: cursor.attempt, offset: cursor.offset }, hasMore: false }
  const reading = isWhole ? readLogLines(storage, jobId, news, cursor) : noLog
  const log = await Promise.resolve(reading).catch((error: unknown) => {
    logFailure = error
    return noLog
  })
  const [messages, last] = numbered([...told, ...log.messages], cursor)
  const hasMore = !isWhole || log.hasMore
  const isOver = isTerminal(news.status) && !hasMore && logFailure === null
  return { messages, after: { ...last, ...log.next }, hasMore, end: isOver ? news : null, logFailure }
}
