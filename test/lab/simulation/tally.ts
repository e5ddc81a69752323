// Adds up the outcomes of many schedules.
import type { CrashPoint } from './faults.ts'
import type { Finished, Schedule } from './schedule-process.ts'

export type Report = {
  schedules: number
  events: number
  virtualMs: number
  cpuMs: number
  statuses: Record<string, number>
  passed: Set<CrashPoint>
  uncovered: CrashPoint[]
  failures: { schedule: Schedule; violations: string[] }[]
  fingerprints: Map<number, number>
}

export class Tally {
  readonly #maxFailures: number
  readonly #firstSeen = new Map<CrashPoint, number>()
  readonly #crashed = new Set<CrashPoint>()
  readonly #sums = { schedules: 0, events: 0, virtualMs: 0, cpuMs: 0, statuses: {} as Record<string, number> }
  readonly #failures: Report['failures'] = []
  readonly #fingerprints = new Map<number, number>()

  constructor(maxFailures: number) {
    this.#maxFailures = maxFailures
  }

  get count() {
    return this.#sums.schedules
  }

  get isEnough() {
    return this.#failures.length >= this.#maxFailures
  }

  add({ schedule, outcome, cpuMs }: Finished) {
    const sums = this.#sums
    sums.schedules++
    sums.events += outcome.events
    sums.virtualMs += outcome.virtualMs
    sums.cpuMs += cpuMs
    for (const status of outcome.statuses) sums.statuses[status] = (sums.statuses[status] ?? 0) + 1
    for (const point of outcome.passed)
      if (!this.#firstSeen.has(point) && !schedule.target) this.#firstSeen.set(point, schedule.seed)
    for (const point of outcome.crashed) this.#crashed.add(point)
    if (!schedule.target) this.#fingerprints.set(schedule.seed, outcome.fingerprint)
    if (outcome.violations.length > 0) this.#failures.push({ schedule, violations: outcome.violations })
  }

  /** A schedule is the same up to its crash, so the point is passed again. */
  missing = (): Schedule[] =>
    [...this.#firstSeen]
      .filter(([point]) => !this.#crashed.has(point))
      .map(([point, seed]) => ({ seed, target: { point, occurrence: 1 } }))

  report = (): Report => ({
    ...this.#sums,
    passed: new Set(this.#firstSeen.keys()),
    uncovered: this.missing().flatMap(({ target }) => target?.point ?? []),
    failures: this.#failures,
    fingerprints: this.#fingerprints,
  })
}
