// The points that a tracker gets for the steps of a job.
import type { MetricRow } from '../../repositories/job-details.ts'
import type { MetricPoint } from './mlflow.ts'

type StoredStep = { at: Date; row: MetricRow }

/** The last point of each step: a run that has it has the others. */
export const lastOfStep = 'loss'
/** Fields of a step that are no series. */
const noSeries = ['step', 'remaining_time', 'valid_rows', lastOfStep]

function pointsOf({ at, row }: StoredStep): MetricPoint[] {
  const point = (key: string, value: number) => ({ key, value, timestamp: at.getTime(), step: row.step })
  const others = Object.entries(row).flatMap(([key, value]) =>
    value === null || noSeries.includes(key) ? [] : point(key, value),
  )
  return [...others, point(lastOfStep, row.loss)]
}

/** The points of the first steps, at most `limit` of them. A step is never cut, and the first one is always taken. */
export function pointsOfFirst(
  steps: readonly StoredStep[],
  limit: number,
): { points: MetricPoint[]; stepCount: number } {
  const points: MetricPoint[] = []
  let stepCount = 0
  for (const step of steps) {
    const next = pointsOf(step)
    if (stepCount > 0 && points.length + next.length > limit) break
    points.push(...next)
    stepCount++
  }
  return { points, stepCount }
}
