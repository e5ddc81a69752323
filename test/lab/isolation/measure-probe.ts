// Asks a probe again and again, one after the other, and keeps the times and what was refused.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Probe } from './attack.ts'

export type Measurement = {
  count: number
  p50Ms: number
  p99Ms: number
  /** Answers other than 200: how many of each status and code. */
  refused: Record<string, number>
}

/** Short, so that the probe itself is no load. */
const pauseMs = 20

/** Asks at least once. @param goesOn called before each further question with how many were asked */
export async function measureProbe(probe: Probe, goesOn: (count: number) => boolean): Promise<Measurement> {
  const timesMs: number[] = []
  const refused: Record<string, number> = {}
  do {
    const startedAt = performance.now()
    const { status, code } = await probe.ask()
    timesMs.push(performance.now() - startedAt)
    if (status !== 200) {
      const kind = status === 0 ? `${code}` : `${status} ${code}`
      refused[kind] = (refused[kind] ?? 0) + 1
    }
    await probe.rest?.()
    await sleep(pauseMs)
  } while (goesOn(timesMs.length))
  return { count: timesMs.length, p50Ms: quantile(timesMs, 0.5), p99Ms: quantile(timesMs, 0.99), refused }
}

export const ratioOf = (alone: Measurement, underAttack: Measurement) => underAttack.p99Ms / alone.p99Ms

/** The nearest rank: with fewer than a hundred values the 0.99 quantile is the largest one. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * q) - 1)] ?? Number.NaN
}
