// Makes messages of a job's news. Events and steps are merged by their times; each of the two keeps its own order.
import { progressOf, type JobProgress } from '../../domain/job-progress.ts'
import { cursorText, type CursorMove, type JobCursor } from '../../domain/job-cursor.ts'
import { stepsOf } from '../../domain/training-steps.ts'
import type { TrainingJobStatus } from '../../domain/training-job-status.ts'
import type { MetricRow } from '../../repositories/job-details.ts'
import type { JobNews } from '../../repositories/job-feed.ts'

type FeedEvent = JobNews['events'][number]

type ToldStatus = {
  /** Null when only the reason has changed, which is no event. */
  eventId: number | null
  status: TrainingJobStatus
  reason: string | null
  message: string | null
  attempt: number | null
  at: Date | null
}

export type StreamMessage = { move: CursorMove } & (
  | { event: 'status'; data: ToldStatus }
  | { event: 'event'; data: FeedEvent }
  | { event: 'metric'; data: { attempt: number; row: MetricRow } }
  | { event: 'progress'; data: JobProgress }
  | { event: 'log'; data: { attempt: number; line: string } }
)

/** `id` is the cursor of a follower that has had the message. */
export type NumberedMessage = { id: string; message: StreamMessage }

/** @param isWhole whether the news is everything that is known, and not a full page */
export function messagesOf(news: JobNews, cursor: JobCursor, { isWhole }: { isWhole: boolean }): StreamMessage[] {
  const [events, hasToldState] = eventMessages(news, { isWhole })
  const messages = inOrder(events, stepMessages(news, cursor, { isWhole })).flatMap((each) => each.messages)
  if (hasToldState || !isWhole || news.stateSequence <= cursor.state) return messages
  const { status, statusReason: reason, statusMessage: message } = news
  const data = { eventId: null, status, reason, message, attempt: null, at: null }
  return [...messages, { event: 'status', data, move: { state: news.stateSequence } }]
}

type Timed = { atMs: number; messages: StreamMessage[] }

/** A move writes the job's row and its event at once, so the newest move tells the row's state too unless that changed since. */
function eventMessages(
  { events, status, statusReason, statusMessage, stateSequence }: JobNews,
  { isWhole }: { isWhole: boolean },
): [Timed[], boolean] {
  const newestMove = isWhole ? events.findLast(({ kind }) => kind === 'status') : undefined
  const isState =
    newestMove?.status === status && newestMove.reason === statusReason && newestMove.message === statusMessage
  const timed = events.map((event): Timed => {
    const move = event === newestMove && isState ? { event: event.id, state: stateSequence } : { event: event.id }
    return { atMs: Date.parse(event.at), messages: [messageOf(event, move)] }
  })
  return [timed, isState]
}

function messageOf(event: FeedEvent, move: CursorMove): StreamMessage {
  const { id: eventId, kind, status, reason, message, attempt, at } = event
  if (kind !== 'status' || status === null) return { event: 'event', data: event, move }
  return { event: 'status', data: { eventId, status, reason, message, attempt, at: new Date(at) }, move }
}

/** The progress follows the newest step. */
function stepMessages(news: JobNews, cursor: JobCursor, { isWhole }: { isWhole: boolean }): Timed[] {
  const { steps, newestStep, status } = news
  const timed = steps.map(({ sequence, attempt, at, row }): Timed => {
    const move = { sequence, step: row.step }
    return { atMs: Date.parse(at), messages: [{ event: 'metric', data: { attempt, row }, move }] }
  })
  if (!isWhole || newestStep === null || newestStep.sequence <= cursor.progress) return timed
  const data = progressOf(newestStep.row, { totalSteps: stepsOf(news), isTraining: status === 'TRAINING MODEL' })
  const told: StreamMessage[] = data ? [{ event: 'progress', data, move: { progress: newestStep.sequence } }] : []
  const last = timed.at(-1)
  if (!last) return [{ atMs: Number.NEGATIVE_INFINITY, messages: told }]
  last.messages.push(...told)
  return timed
}

/** Merges by time and keeps the order within each list, whatever its times are. */
function inOrder(events: Timed[], steps: Timed[]): Timed[] {
  const merged: Timed[] = []
  let next = 0
  for (const event of events) {
    for (; next < steps.length && (steps[next]?.atMs ?? 0) < event.atMs; next++)
      merged.push(...steps.slice(next, next + 1))
    merged.push(event)
  }
  return [...merged, ...steps.slice(next)]
}

/** Numbers messages for a follower at the cursor. */
export function numbered(messages: readonly StreamMessage[], cursor: JobCursor): [NumberedMessage[], JobCursor] {
  let at = cursor
  const told = messages.map((message) => {
    at = { ...at, ...message.move }
    return { id: cursorText(at), message }
  })
  return [told, at]
}
