// The table of faults and states, as Markdown: counts, how the jobs ended, their attempts, and how soon they continued.
import { triesBetween } from './ending.ts'
import type { Job } from './jobs.ts'
import { openStates, type OpenState } from './plan.ts'
import { endAfter, stateAt, timeOf, type Records } from './records.ts'
import type { Injection, Violation } from './world.ts'

/** A hit and its outcome. */
type Outcome = {
  injection: Injection
  state: OpenState
  ended: string
  /** Attempts that began between the injection and the end. */
  tries: number
  recoveryMs: number | null
}

/** Leaves out jobs that have ended and wait for their resume: they are in no state. */
export function outcomesOf(jobs: readonly Pick<Job, 'id' | 'hits'>[], records: Map<number, Records>): Outcome[] {
  return jobs.flatMap(({ id, hits }) =>
    hits.flatMap(({ injection, recoveryMs, isMeasured }) => {
      const known = records.get(id)
      const state = known ? (stateAt(known, injection.atMs) ?? beforeAll(known, injection)) : null
      if (!known || !state) return []
      const end = endAfter(known, injection.atMs)
      const tries = triesBetween(known, injection.atMs, end ? timeOf(end.at) : Infinity)
      const ended = end?.status ?? 'not at all'
      return [{ injection, state, ended, tries, recoveryMs: isMeasured ? recoveryMs : null }]
    }),
  )
}

/** The request that it came from was under way. */
const beforeAll = ({ events }: Records, { atMs }: Injection): OpenState | null =>
  events[0] && timeOf(events[0].at) > atMs ? 'CREATED' : null

const columns = [
  'fault',
  'state',
  'instants',
  'ended as',
  'tries',
  'violations',
  'n',
  'p50 s',
  'p90 s',
  'p99 s',
  'max s',
]

export function tableOf(outcomes: readonly Outcome[], violations: readonly Violation[]): string {
  const faults = [...new Set(outcomes.map(({ injection }) => injection.fault))].toSorted()
  const rows = faults.flatMap((fault) => {
    const ofFault = outcomes.filter(({ injection }) => injection.fault === fault)
    const wrong = violations.filter(({ injection }) => injection?.fault === fault)
    return [
      rowOf(`**${fault}**`, 'all', ofFault, wrong.length),
      ...openStates.flatMap((state) => {
        const inState = ofFault.filter((outcome) => outcome.state === state)
        const aimed = wrong.filter(({ injection }) => injection?.aim === state)
        return inState.length > 0 || aimed.length > 0 ? [rowOf('', state, inState, aimed.length)] : []
      }),
    ]
  })
  return [columns, columns.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

function rowOf(fault: string, state: string, outcomes: readonly Outcome[], violations: number): string[] {
  const recoveries = outcomes.flatMap(({ recoveryMs }) => recoveryMs ?? []).toSorted((a, b) => a - b)
  const tries = outcomes.map((outcome) => outcome.tries)
  const mean = tries.reduce((sum, each) => sum + each, 0) / Math.max(1, tries.length)
  return [
    fault,
    state,
    String(new Set(outcomes.map(({ injection }) => injection)).size),
    counted(outcomes.map(({ ended }) => ended)),
    `${mean.toFixed(1)}, at most ${Math.max(0, ...tries)}`,
    String(violations),
    String(recoveries.length),
    ...[0.5, 0.9, 0.99, 1].map((share) => seconds(quantile(recoveries, share))),
  ]
}

const counted = (words: readonly string[]) =>
  [...new Set(words)]
    .toSorted()
    .map((word) => `${words.filter((each) => each === word).length} ${word}`)
    .join(', ')

const seconds = (ms: number | null) => (ms === null ? '' : (ms / 1000).toFixed(1))

/** The smallest value that this share does not exceed. */
export const quantile = (sorted: readonly number[], share: number): number | null =>
  sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null
