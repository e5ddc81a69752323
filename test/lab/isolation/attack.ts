// The words of this folder: an attack is what one ordinary key does to slow down or stop others; a probe is a small action
// of another account, the victim, whose times and answers show whether the attack succeeds.
import type { Connection } from '../../../src/embedded/connection.ts'
import type { Account, Answer, Ask } from './accounts.ts'

/** `npm test` asks each probe a few times on a shared stack; `npm run test:isolation` measures at the full size. */
export type Size = 'short' | 'full'

export type Stage = {
  connection: Connection
  homeDir: string
  size: Size
  /** The names of the attack's parts to run; none means all. */
  parts: readonly string[]
  attacker: Account
  victim: Account
}

/** What `prepare` made, by name: ids, addresses, model names. It crosses a process boundary as JSON. */
export type Prepared = Record<string, string[]>

export type Probe = {
  name: string
  ask: () => Promise<Answer>
  /** How often it is asked before the attack, at the full size. */
  count: number
  /** Ends what a probe has started, outside the measured time. */
  rest?: () => Promise<unknown>
}

export type Attack = {
  name: string
  /** One sentence, for the list and the page. */
  what: string
  /** Settings of the stack beside its defaults. An attack with settings cannot use a stack that is already up. */
  settings?: Record<string, string>
  /** Highest ratio of the victim's p99 under attack to its p99 alone, when it is not the usual one. */
  maxRatio?: number
  /** Megabytes by which a process may grow at the full size. */
  maxGrowthMb?: Record<string, number>
  /** The attacker is told to end after this time. */
  seconds: number
  /** Makes what attack and probes need, before anything is measured. */
  prepare?: (stage: Stage) => Promise<Prepared>
  probes: (stage: Stage, prepared: Prepared) => Probe[]
  /** Runs in a process of its own. Returns when it is done, and soon after `signal`. */
  run: (attacker: Attacker) => Promise<void>
  /** @returns a sentence for each thing that is not as it must be after the attack */
  check?: (stage: Stage, record: AttackRecord) => Promise<string[]>
}

export type Attacker = {
  baseModel: string
  apiUrl: string
  apiKey: string
  prepared: Prepared
  /** As the stage has them. */
  parts: readonly string[]
  signal: AbortSignal
  /** Each answer is counted. */
  ask: Ask
  count: (answer: Answer) => void
  /** The attack is at its full strength: the victim is measured from now on. */
  underway: () => void
  /** Work that the service took on and answers for later. `done` counts what it has finished. */
  accepted: (count: number) => void
  done: (count: number) => void
  /** A sentence for something that is not as it must be. */
  found: (sentence: string) => void
}

/** How often the attacker got an answer of one kind, with the first such answer as an example. */
export type CountedAnswer = {
  status: number
  code: string | null
  count: number
  detail: string | null
  retryAfterSeconds: number | null
}

/** `processorShare`: what the attacker's own process took of one processor. */
export type AttackRecord = {
  answers: CountedAnswer[]
  accepted: number
  done: number
  findings: string[]
  processorShare: number
}
