// The definition of a fault, and constants that several faults share.
import type { Random } from '../../inference/support/random.ts'
import type { Job } from './jobs.ts'
import type { Shares } from './plan.ts'
import type { World } from './world.ts'

/** `job` is null for a shared fault while the request for a new job is under way. */
export type Target = { world: World; job: Job | null; random: Random }

export type Fault = {
  name: string
  shares: Shares
  /** How often a full run injects the fault. */
  count: number
  /** The fault affects only the job that it aims at. */
  isOfOneJob: boolean
  /** The fault replaces one of our processes by another. */
  endsServer?: true
  /** How long no other shared fault is injected, unless the stack recovers earlier: silence counts only while all is sound. */
  patienceMs?: number
  /** Recovery is seen when the job progresses, or when the base model answers. */
  recovery: 'job' | 'model'
  mayInject: (world: World, job: Job | null) => boolean
  /** Resolves once it is taken back; what it hit may still be recovering. Calls `injected` at the instant. */
  inject: (target: Target, injected: () => void) => Promise<void>
}

export const everyState: Shares = {
  CREATED: 10,
  QUEUED: 12,
  'LOADING DATA': 20,
  'TRAINING MODEL': 28,
  'SAVING MODEL': 12,
  'EVALUATING MODEL': 18,
}
/** How often a full run injects each kind. */
export const kills = 100
export const others = 10

/** Draws short durations as often as long ones. */
export const lasting = (random: Random, longestMs: number) => 1000 * (longestMs / 1000) ** random.fraction()
