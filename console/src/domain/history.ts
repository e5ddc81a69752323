// The past of a job: the states it was in, and its attempts.
import { parseTime } from './format.ts'
import { isOpen } from './job-list.ts'

export type Event = { id: string; at: string; kind: string; status: string | null; message: string | null }

export type Stay = { status: string; from: Date; seconds: number; isNow: boolean }

/** Every state that the job was in, in order; the last one lasts until now, or has no length once the job has ended. */
export function stays(events: readonly Event[], { now, isOpen }: { now: Date; isOpen: boolean }): Stay[] {
  const moves = events.filter(({ kind, status }) => kind === 'status' && status !== null)
  return moves.map(({ status, at }, index) => {
    const from = parseTime(at)
    const next = moves[index + 1]
    const isNow = next === undefined && isOpen
    const until = next ? parseTime(next.at) : isOpen ? now : from
    return { status: status ?? '', from, seconds: Math.max(0, (until.getTime() - from.getTime()) / 1000), isNow }
  })
}

/** The states of each run: a resume begins another one. */
export function runsOf(walk: readonly Stay[]): Stay[][] {
  const runs: Stay[][] = []
  for (const [index, stay] of walk.entries()) {
    const before = walk[index - 1]
    if (before === undefined || !isOpen(before.status)) runs.push([])
    runs.at(-1)?.push(stay)
  }
  return runs
}

export type Attempt = {
  attempt: number
  mode: string
  cause: string | null
  message: string | null
  from_step: number
  last_step: number | null
  last_checkpoint_step: number | null
  created_at: string
  claimed_at: string | null
  ended_at: string | null
  training_seconds: { allocated: number; productive: number; lost: number }
}

/** Names an attempt's part of the curve. `done` attempts lost nothing that had to be repeated. */
export const attemptTone = ({ cause, ended_at: endedAt }: Attempt): 'running' | 'done' | 'stopped' =>
  endedAt === null ? 'running' : cause === null || cause === 'finished' ? 'done' : 'stopped'

export type Part = { attempt: Attempt; from: number; to: number }

/**
 * The steps that each attempt has added to the curve: a later attempt replaces what it repeats. Oldest first.
 * @param newest the newest step of the curve, which a page knows earlier than the facts of the attempt that runs
 */
export function partsOf(attempts: readonly Attempt[], newest = 0): Part[] {
  const inOrder = attempts.toSorted((a, b) => a.attempt - b.attempt)
  return inOrder.flatMap((attempt, index) => {
    const later = inOrder.slice(index + 1).find(({ mode }) => mode === 'train')
    const known = attempt.last_step ?? attempt.from_step
    const reached = attempt.ended_at === null ? Math.max(known, newest) : known
    const to = later ? Math.min(reached, later.from_step) : reached
    return attempt.mode === 'train' && to > attempt.from_step ? [{ attempt, from: attempt.from_step, to }] : []
  })
}
