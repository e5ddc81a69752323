// The cursor says how far a follower of a job has read. The database assigned each of its numbers, so any api process can
// continue from it. The numbers are independent: different transactions commit events, steps, states and log lines.

export type JobCursor = {
  /** Id of the newest event. */
  event: number
  /** Sequence of the newest report of a step, and the step. Each report has a sequence of its own; cursors of v0.1.0 name both. */
  sequence: number
  step: number
  /** Sequence of the step whose progress was told. */
  progress: number
  /** Sequence of the newest state of the job's row. */
  state: number
  /** The attempt whose log is read, and the bytes of it. */
  attempt: number
  offset: number
}

/** The parts that one message moves; the parts of a pair come together. */
export type CursorMove =
  | { event: number; state?: number }
  | { sequence: number; step: number }
  | { progress: number }
  | { state: number }
  | { attempt: number; offset: number }

export const startCursor: JobCursor = {
  event: 0,
  sequence: 0,
  step: 0,
  progress: 0,
  state: 0,
  attempt: 1,
  offset: 0,
}

const pattern = /^(\d{1,15})-(\d{1,15})\.(\d{1,10})-(\d{1,15})-(\d{1,15})-(\d{1,9})\.(\d{1,12})(?:-end)?$/

export const cursorText = ({ event, sequence, step, progress, state, attempt, offset }: JobCursor) =>
  `${event}-${sequence}.${step}-${progress}-${state}-${attempt}.${offset}`

/** The id of the message that a stream ends with. Its follower has had everything, and may ask again. */
export const endText = (cursor: JobCursor) => `${cursorText(cursor)}-end`

/** Steps are 32-bit integers in the database. */
const maxStep = 2 ** 31 - 1

/** @returns null for text that is no cursor */
export function parseCursor(text: string): JobCursor | null {
  const found = pattern.exec(text)
  if (!found) return null
  const [event = 0, sequence = 0, step = 0, progress = 0, state = 0, attempt = 0, offset = 0] = found
    .slice(1)
    .map(Number)
  return {
    ...{ event, sequence, step: Math.min(step, maxStep), progress, state },
    ...{ attempt: Math.max(attempt, 1), offset },
  }
}

/** Whether a follower at the cursor has not had the message. */
export function isBehind(cursor: JobCursor, move: CursorMove): boolean {
  if ('event' in move) return move.event > cursor.event
  if ('sequence' in move) return isPairAfter([move.sequence, move.step], [cursor.sequence, cursor.step])
  if ('progress' in move) return move.progress > cursor.progress
  if ('attempt' in move) return isPairAfter([move.attempt, move.offset], [cursor.attempt, cursor.offset])
  return move.state > cursor.state
}

/** Whether a follower at the cursor has had everything that one at `base` has had. */
export const hasReached = (cursor: JobCursor, { event, sequence, step, progress, state, attempt, offset }: JobCursor) =>
  cursor.event >= event &&
  !isPairAfter([sequence, step], [cursor.sequence, cursor.step]) &&
  cursor.progress >= progress &&
  cursor.state >= state &&
  !isPairAfter([attempt, offset], [cursor.attempt, cursor.offset])

/** Moves back to `newest` the parts of the cursor that are ahead of it. */
export function notAhead(cursor: JobCursor, newest: JobCursor): JobCursor {
  const isStepAhead = isPairAfter([cursor.sequence, cursor.step], [newest.sequence, newest.step])
  const isLogAhead = isPairAfter([cursor.attempt, cursor.offset], [newest.attempt, newest.offset])
  const { sequence, step } = isStepAhead ? newest : cursor
  const { attempt, offset } = isLogAhead ? newest : cursor
  return {
    event: Math.min(cursor.event, newest.event),
    ...{ sequence, step },
    progress: Math.min(cursor.progress, newest.progress),
    state: Math.min(cursor.state, newest.state),
    ...{ attempt, offset },
  }
}

type Pair = [number, number]
const isPairAfter = (a: Pair, b: Pair) => a[0] > b[0] || (a[0] === b[0] && a[1] > b[1])
