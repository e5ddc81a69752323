import { memo } from 'react'
import type { JobBrief } from '../api/job.ts'
import { count, duration, loss, percent, short } from '../domain/format.ts'
import { isOpen, partsOfBase, sentenceOf } from '../domain/job-list.ts'
import { Link } from '../ui/router.tsx'
import { Status, When } from '../ui/text.tsx'
import { Spark } from './spark.tsx'

/** Also in style/jobs.css. */
export const rowHeight = { wide: 56, narrow: 72 }

/** The columns that some job has a value for. */
export type JobColumns = { hasLoss: boolean; hasHeldOut: boolean; hasGpu: boolean }

type Props = {
  job: JobBrief
  position: number
  isSelected: boolean
  select: (id: number) => void
  columns: JobColumns
}

export const JobRow = memo(function JobRow({ job, position, isSelected, select, columns }: Props) {
  const { job_id: id } = job
  const { owner, name: base } = partsOfBase(job.base_model)
  const second = secondLineOf(job)
  return (
    <tr aria-rowindex={position} aria-selected={isSelected}>
      <td className="select">
        <input type="checkbox" aria-label={`Select job ${id}`} checked={isSelected} onChange={() => select(id)} />
      </td>
      <td className="job">
        <div>
          <Link href={`/jobs/${id}`}>
            {job.display_name} <span className="quiet small">#{id}</span>
          </Link>
        </div>
        <div className="second" title={second}>
          {second}
        </div>
      </td>
      <td className="job-state">
        <Status status={job.status} />
        <JobProgress job={job} />
      </td>
      <td className="wide">
        <span className="quiet">{owner}</span>
        {base}
        <span className="second" title={job.dataset_id}>
          {job.dataset_file ?? short(job.dataset_id)}
        </span>
      </td>
      {columns.hasLoss && (
        <td className="medium">
          <Spark losses={job.losses} />
        </td>
      )}
      {columns.hasHeldOut && <td className="wide number">{loss(job.valid_loss)}</td>}
      <td className="wide number">{timeOf(columns.hasGpu ? job.gpu_seconds : job.training_seconds)}</td>
      <td className="age number">
        <When at={job.created_at} as="age" />
      </td>
    </tr>
  )
})

const timeOf = (seconds: number) => (seconds > 0 ? duration(seconds) : '–')

/** What one wants to know next: why the job waits or failed, how far it is, or what it was. */
function secondLineOf(job: JobBrief): string {
  const resumed = job.resume_count > 0 ? ` · resumed ${job.resume_count}×` : ''
  const sentence = sentenceOf(job)
  if (sentence !== null) return sentence + resumed
  const { progress } = job
  if (!progress) return isOpen(job.status) ? `not started${resumed}` : `no step${resumed}`
  const { step, of, remaining_seconds: left } = progress
  if (!isOpen(job.status)) return `${count(step)} steps in ${duration(job.training_seconds)}${resumed}`
  const share = of === null ? `step ${count(step)}` : `step ${count(step)} of ${count(of)}`
  return `${share}${left == null ? '' : ` · ${duration(left)} left`}${resumed}`
}

function JobProgress({ job: { status, progress } }: { job: JobBrief }) {
  if (!isOpen(status) || !progress?.of) return null
  const share = Math.min(1, progress.step / progress.of)
  return <progress aria-label={`${percent(share)} of the steps`} max={1} value={share} />
}
