// How long a training will take, before it has reported a step.
import { useQuery } from '@tanstack/react-query'
import type { Job } from '../api/job.ts'
import { estimateQuery } from '../api/jobs.ts'
import { useMay } from '../api/session.ts'
import { count, duration } from '../domain/format.ts'
import { formOf, requestOf } from '../domain/job-form.ts'
import { Empty } from '../ui/states.tsx'

type Seconds = { low: number; likely: number; high: number }

/** Stands in the place of the curve until its first point. */
export function JobEstimate({ job }: { job: Job }) {
  const mayTrain = useMay('training')
  const estimate = useQuery({ ...estimateQuery(requestOf(formOf(job))), enabled: mayTrain, retry: false })
  const seconds = estimate.data?.estimated_seconds
  if (!estimate.data || !seconds) return <Empty>The curve begins with the first step of the training.</Empty>
  return (
    <section className="card expected" aria-label="Estimate">
      <p className="quiet">
        The curve begins with the first of {count(estimate.data.steps)} steps. From its start, the training should take
      </p>
      <EstimateRange seconds={seconds} />
    </section>
  )
}

/** A range of times, drawn on a line that begins now. */
export function EstimateRange({ seconds: { low, likely, high } }: { seconds: Seconds }) {
  const at = (value: number) => `${(100 * value) / high}%`
  return (
    <div className="range">
      <p>
        <strong>{duration(likely)}</strong>{' '}
        <span className="quiet">
          {duration(low)} to {duration(high)}
        </span>
      </p>
      <div className="line" aria-hidden="true">
        <span className="sure" style={{ width: at(low) }} />
        <span className="likely" style={{ left: at(low), right: 0 }} />
        <span className="mark" style={{ left: at(likely) }} />
      </div>
    </div>
  )
}
