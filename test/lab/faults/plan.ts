// Plans which fault is injected in which state, after which delay. The same seed gives the same plan; the moment at which a
// job reaches that state differs from run to run.
import { createRandom, type Random } from '../../inference/support/random.ts'

/** The states of a job that has not ended. */
export const openStates = [
  'CREATED',
  'QUEUED',
  'LOADING DATA',
  'TRAINING MODEL',
  'SAVING MODEL',
  'EVALUATING MODEL',
] as const
export type OpenState = (typeof openStates)[number]

/** How often the fault is drawn, relative to the others. */
export type Shares = Partial<Record<OpenState, number>>

export type Instant = {
  fault: string
  state: OpenState
  /** The delay after the job was seen in that state; for CREATED, after the request was sent. */
  delayMs: number
  /** The seed for the random choices of the fault itself. */
  seed: number
  /** Injections that came too late for their state. */
  misses: number
}

type Wanted = { name: string; shares: Shares; count: number }

/** About as long as a job is in that state. */
const longestDelayMs: Record<OpenState, number> = {
  CREATED: 300,
  QUEUED: 800,
  'LOADING DATA': 4000,
  'TRAINING MODEL': 2500,
  'SAVING MODEL': 300,
  'EVALUATING MODEL': 800,
}

/** Spreads each fault evenly, so that a part of the plan has a bit of everything. */
export function makePlan(seed: number, wanted: readonly Wanted[]): Instant[] {
  const random = createRandom(seed)
  const placed = wanted.flatMap(({ name, shares, count }) =>
    shuffled(spread(shares, count), random).map((state, index) => ({
      place: (index + random.fraction()) / count,
      instant: {
        fault: name,
        state,
        delayMs: Math.floor(random.fraction() * longestDelayMs[state]),
        seed: random.below(2 ** 31),
        misses: 0,
      },
    })),
  )
  return placed.toSorted((a, b) => a.place - b.place).map(({ instant }) => instant)
}

/** Each server killed once, a trainer too, and a link cut: in states that last seconds, so that none comes too late. */
const slice: readonly [fault: string, state: OpenState][] = [
  ['kill api', 'CREATED'],
  ['kill trainer', 'TRAINING MODEL'],
  ['kill worker', 'LOADING DATA'],
  ['reset internal', 'TRAINING MODEL'],
  ['kill postgres', 'TRAINING MODEL'],
  ['kill s3', 'TRAINING MODEL'],
  ['kill temporal', 'LOADING DATA'],
]

/** The plan of a landing: the same faults in the same states for every seed, each repeated until it has hit a job. */
export function makeSlice(seed: number): Instant[] {
  const random = createRandom(seed)
  return slice.map(([fault, state]) => ({
    ...{ fault, state, delayMs: random.below(300), seed: random.below(2 ** 31) },
    // Never given up.
    misses: -Infinity,
  }))
}

/** `count` states in the proportion of their shares; each at least once where there is room. */
export function spread(shares: Shares, count: number): OpenState[] {
  const states = openStates.filter((state) => (shares[state] ?? 0) > 0)
  const given = new Map<OpenState, number>()
  const behind = (state: OpenState) => (given.get(state) ?? 0) / (shares[state] ?? 1)
  return Array.from({ length: count }, () => {
    const next = states.reduce((least, state) => (behind(state) < behind(least) ? state : least))
    given.set(next, (given.get(next) ?? 0) + 1)
    return next
  })
}

function shuffled<T>(items: readonly T[], random: Random): T[] {
  return items
    .map((item) => ({ item, at: random.fraction() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item)
}
