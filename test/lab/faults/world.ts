// The state that all parts of one run of the suite share.
import type { Client } from './client.ts'
import type { Job } from './jobs.ts'
import type { OpenState } from './plan.ts'
import type { Program } from './programs.ts'
import type { FaultStack } from './stack.ts'

/** One fault at one instant. */
export type Injection = {
  fault: string
  atMs: number
  /** When the fault was taken back. For a kill, the instant of the kill. */
  overMs: number
  /** The fault met only one job. */
  isOfOneJob: boolean
  recovery: 'job' | 'model'
  /** The state that the plan named. */
  aim: OpenState
}

/** An injection as one job met it. */
export type Hit = {
  injection: Injection
  /** The job's progress when it was last observed before the fault. */
  progress: number
  /** From the end of the fault to the first progress of the job beyond that; null before. */
  recoveryMs: number | null
  /** False while the job waits for a slot, and if a fault of its trainer delays it as well. */
  isMeasured: boolean
}

export type Violation = { atMs: number; what: string; injection: Injection | null }

export type World = {
  stack: FaultStack
  client: Client
  maxSteps: number
  /** The losses of an uninterrupted run, by step. Every job of the suite trains alike. */
  losses: Map<number, number>
  jobs: Job[]
  injections: Injection[]
  violations: Violation[]
  /** The trainers at the last look at /proc. */
  programs: Program[]
  /** The last answer of the base model. */
  modelAnswers: boolean
  /** True once no job is started or resumed any more. */
  isClosing: boolean
  say: (text: string) => void
}

/** Attributes the violation to the newest injection, which caused it or at least came before it. */
export function violate(world: World, what: string) {
  if (world.violations.some((violation) => violation.what === what)) return
  const injection = world.injections.at(-1) ?? null
  world.violations.push({ atMs: Date.now(), what, injection })
  world.say(`VIOLATED ${what} (after ${injection ? `${injection.fault} in ${injection.aim}` : 'no fault'})`)
}

export const openJobs = ({ jobs }: World) => jobs.filter(({ isDone }) => !isDone)
