// Bounds what a request's schemas cost. Everything that reads, writes or checks schemas counts its steps, each of about a tenth of a
// microsecond, before it takes them: a short schema can stand for a large automaton, and its parts multiply.
import { ServiceError, type InputIssue } from '../service-error.ts'
import type { StringRule } from './nodes.ts'

/** Counted down; all schemas of a request share it. */
export type Steps = { left: number }
/** `rules` keeps the automaton of each pattern: many strings have the same. */
export type Work = Steps & { rules: Map<string, StringRule> }

/** The work was used up. Whoever can do the whole again in a thread does so; elsewhere it is a refusal. */
export class TooMuchWork extends ServiceError {
  constructor(message = 'The schemas of the request take too much work.', issues: InputIssue[] = []) {
    super('invalid_input', message, { issues })
  }
}

/** The event loop may do so much at once: a few milliseconds. Many answers of a request may be checked in one turn of the loop. */
const stepsAtOnce = { read: 30_000, check: 10_000 }
/** About a second of a thread, and tens of megabytes. */
const most = { read: 6_000_000, check: 20_000_000 }

export type Kind = keyof typeof most

export const workAtOnce = (kind: Kind = 'read'): Work => ({ left: stepsAtOnce[kind], rules: new Map() })
export const newWork = (kind: Kind = 'read'): Work => ({ left: most[kind], rules: new Map() })

/** @throws TooMuchWork */
export function spend(work: Steps, steps: number) {
  work.left -= steps
  if (work.left < 0) throw new TooMuchWork()
}
