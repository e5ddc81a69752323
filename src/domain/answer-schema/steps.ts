// Bounds what a request's schemas cost. Everything that reads, writes or checks schemas counts its steps, each of about a tenth of a
// microsecond, before it takes them: a short schema can stand for a large automaton, and its parts multiply.
import { ServiceError, type InputIssue } from '../service-error.ts'

/** Counted down; all schemas of a request share it. */
export type Steps = { left: number }

/** The work was used up. Whoever can do the whole again in a thread does so; elsewhere it is a refusal. */
export class TooMuchWork extends ServiceError {
  constructor(message = 'The schemas of the request take too much work.', issues: InputIssue[] = []) {
    super('invalid_input', message, { issues })
  }
}

/** The event loop may do so much at once: a few milliseconds. Many answers of a request may be checked in one turn of the loop. */
export const stepsAtOnce = { read: 30_000, check: 10_000 }
/** About a second of a thread, and tens of megabytes. */
export const mostSteps = { read: 6_000_000, check: 20_000_000 }

export type Kind = keyof typeof mostSteps

/** @throws TooMuchWork */
export function spend(work: Steps, steps: number) {
  work.left -= steps
  if (work.left < 0) throw new TooMuchWork()
}
