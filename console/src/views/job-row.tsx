import { memo, useEffect, useRef } from 'react'
import type { JobSummary } from '../api/job.ts'
import { duration, loss, short } from '../domain/format.ts'
import { isOpen, nameOf } from '../domain/job-list.ts'
import { Link } from '../ui/router.tsx'
import { Progress, Status, When } from '../ui/text.tsx'
import { Spark, useLosses } from './spark.tsx'

/** Also in the style sheet. */
export const rowHeight = 44

type Props = {
  job: JobSummary
  position: number
  /** Moves the focus here. */
  isCurrent: boolean
  isSelected: boolean
  select: (id: number) => void
}

export const JobRow = memo(function JobRow({ job, position, isCurrent, isSelected, select }: Props) {
  const { job_id: id, status } = job
  const losses = useLosses(id, isOpen(status), job.progress?.step ?? null)
  const nameCell = useRef<HTMLTableCellElement>(null)
  useEffect(() => {
    if (isCurrent) nameCell.current?.querySelector('a')?.focus({ preventScroll: true })
  }, [isCurrent])
  return (
    <tr aria-rowindex={position} className={isCurrent ? 'current' : undefined} aria-selected={isSelected} data-job={id}>
      <td className="select">
        <input type="checkbox" aria-label={`Select job ${id}`} checked={isSelected} onChange={() => select(id)} />
      </td>
      <td className="name" ref={nameCell}>
        <Link href={`/jobs/${id}`}>
          <span className="quiet">{id}</span> {nameOf(job)}
        </Link>
      </td>
      <td className="reason" title={job.queue?.message ?? undefined}>
        <Status status={status} />
        {job.queue && (
          <span className="quiet"> {job.queue.ahead === null ? job.queue.message : `${job.queue.ahead} ahead`}</span>
        )}
        {job.resume_count > 0 && <span className="quiet"> · resumed {job.resume_count}×</span>}
      </td>
      <td className="wide">{short(job.base_model)}</td>
      <td>
        <JobProgress job={job} />
      </td>
      <td className="wide">
        <Spark losses={losses} />
      </td>
      <td className="wide number">{loss(losses?.validLoss)}</td>
      <td className="wide number">{job.attempts.gpu_seconds ? duration(job.attempts.gpu_seconds) : '–'}</td>
      <td className="medium">
        <When at={job.start_time} as="age" />
      </td>
    </tr>
  )
})

function JobProgress({ job: { status, progress } }: { job: JobSummary }) {
  if (!isOpen(status)) return <>{progress ? `${progress.step} steps` : '–'}</>
  if (!progress) return <>–</>
  const { step, of, remaining_seconds: left } = progress
  const label = left == null ? `${step}${of === null ? '' : ` / ${of}`}` : `${duration(left)} left`
  return <Progress share={of === null ? null : step / of} label={label} />
}
