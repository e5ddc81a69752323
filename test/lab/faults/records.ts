// Checks the events and attempts of a job that has ended, as the API lists them.
import { isEnd, mayMove, type Observation, type Status } from './observations.ts'
import { openStates, type OpenState } from './plan.ts'
import type { Injection } from './world.ts'

export type JobEvent = { at: string; kind: string; status: Status | null; reason: string | null }
export type Attempt = {
  attempt: number
  mode: 'train' | 'evaluate'
  cause: string | null
  message: string | null
  from_step: number
  created_at: string
  ended_at: string | null
}

/** Oldest first. */
export type Records = { events: JobEvent[]; attempts: Attempt[] }

/** Causes after which docs/reliability.md promises a new launch that does not count as a resume. */
const free = ['fenced', 'control_plane', 'cancelled']

export const timeOf = (naive: string) => Date.parse(`${naive}Z`)

/** @param resumes that were acknowledged to us */
export function wrongRecords(end: Observation, { events, attempts }: Records, resumes: number): string[] {
  return [
    ...wrongMoves(events, end.status),
    ...wrongCounts(end, { events, attempts }, resumes),
    ...attempts
      .filter(({ ended_at, cause }) => ended_at === null || cause === null)
      .map(({ attempt }) => `6: attempt ${attempt} is open at the end`),
    ...(end.reason === 'internal_error' ? [`8: it ended on an error that no policy foresees: ${end.text}`] : []),
    ...(end.reason === 'workflow_terminated' ? [`1: its workflow was lost, and nobody ended it: ${end.text}`] : []),
    ...(end.status === 'FAILED' && end.reason === null ? ['8: it failed without a reason'] : []),
  ]
}

function wrongMoves(events: readonly JobEvent[], last: Status): string[] {
  const wrong: string[] = []
  let at: Status | null = null
  for (const { status, reason } of statusesIn(events)) {
    const isAllowed = at === null ? status === 'CREATED' : mayMove(at, status)
    if (!isAllowed) wrong.push(`2: its events go from ${at} to ${status}`)
    if (at !== null && isEnd(at) && reason !== 'resumed') wrong.push(`2: it left ${at} without a resume`)
    at = status
  }
  return at === last ? wrong : [...wrong, `2: it is ${last}, and its last event says ${at}`]
}

function wrongCounts({ resumeCount }: Observation, { events, attempts }: Records, resumes: number): string[] {
  const resumedAt = events.filter(({ kind, reason }) => kind === 'command' && reason === 'resume').map(({ at }) => at)
  const relaunches = attempts.filter((next, index) => {
    const previous = attempts[index - 1]
    if (!previous || next.mode === 'evaluate' || free.includes(previous.cause ?? '')) return false
    return !resumedAt.some((at) => at > previous.created_at && at < next.created_at)
  })
  const expected = resumes + relaunches.length
  return [
    ...(resumedAt.length === resumes ? [] : [`1: ${resumes} resumes were acknowledged, ${resumedAt.length} happened`]),
    ...(resumeCount === expected ? [] : [`7: it counts ${resumeCount} resumes; ${expected} happened`]),
  ]
}

/** The fault that must explain each cause of an attempt's end. Other faults may strike around it. */
const explanations: Record<string, RegExp> = {
  finished: /^/,
  fenced: /^/,
  control_plane: /^/,
  cancelled: /CANCELLED/,
  killed: /trainer|checkpoint|CANCELLED/,
  stalled: /^(stop|hung) trainer|internal$|CANCELLED/,
}
/** A trainer keeps files of its own. */
const anythingElse = /^full disk$/

type Met = Pick<Injection, 'fault' | 'atMs' | 'overMs' | 'isOfOneJob'>

/** 4 and 8: no cause is made up. @param injected what met the job */
export function wrongCauses({ events, attempts }: Records, injected: Met[]): string[] {
  return attempts.flatMap(({ attempt, cause, message, created_at, ended_at }, index) => {
    const until = attempts[index + 1]?.created_at ?? '9'
    const during = injected
      // A fault that strikes all jobs also strikes an attempt that begins while it lasts.
      .filter(
        ({ isOfOneJob, atMs, overMs }) =>
          (isOfOneJob ? atMs : overMs) >= timeOf(created_at) && atMs <= timeOf(ended_at ?? until),
      )
      .map(({ fault }) => fault)
    const isCancelled = events.some(({ status, at }) => status === 'CANCELLED' && at > created_at && at < until)
    const known = isCancelled ? [...during, 'CANCELLED'] : during
    const expected = explanations[cause ?? ''] ?? anythingElse
    if (expected.test('') || known.some((each) => expected.test(each) || anythingElse.test(each))) return []
    return [`8: attempt ${attempt} ended as ${cause} (${message}); what met it: ${known.join(', ') || 'nothing'}`]
  })
}

/** The job's state at that moment; null before its acceptance and after its end. */
export function stateAt({ events }: Records, atMs: number): OpenState | null {
  const status = statusesIn(events).findLast(({ at }) => timeOf(at) <= atMs)?.status
  return openStates.find((state) => state === status) ?? null
}

/** The first end after that moment. */
export const endAfter = ({ events }: Records, atMs: number) =>
  statusesIn(events).find(({ at, status }) => timeOf(at) > atMs && isEnd(status)) ?? null

const statusesIn = (events: readonly JobEvent[]) =>
  events.flatMap(({ kind, status, ...event }) => (kind === 'status' && status !== null ? [{ status, ...event }] : []))
