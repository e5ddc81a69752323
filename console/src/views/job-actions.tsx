// What can be done to jobs, each with a sentence about its consequence.
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api/client.ts'
import type { Job } from '../api/job.ts'
import { refreshJobs } from '../api/jobs.ts'
import { useMay } from '../api/session.ts'
import { count } from '../domain/format.ts'
import { isOpen } from '../domain/job-list.ts'
import { Confirm } from '../ui/confirm.tsx'
import { Link } from '../ui/router.tsx'
import { Failure } from '../ui/states.tsx'
import { toast } from '../ui/toast.tsx'
import { ExportModel } from './export-model.tsx'

const params = (id: number) => ({ params: { path: { job_id: id } } })

type ManyProps = { jobs: readonly { job_id: number }[]; close: () => void }

const subjectOf = ({ jobs }: Pick<ManyProps, 'jobs'>) =>
  jobs.length === 1 ? `job ${jobs[0]?.job_id ?? ''}` : `${count(jobs.length)} jobs`

/** Acts on one job after the other. A job that refuses does not keep the others from it. @throws Error about those that refused */
async function actOnEach({ jobs }: Pick<ManyProps, 'jobs'>, act: (id: number) => Promise<unknown>) {
  const refused: { id: number; error: unknown }[] = []
  for (const { job_id: id } of jobs) await act(id).catch((error: unknown) => refused.push({ id, error }))
  void refreshJobs(jobs.map(({ job_id: id }) => id))
  const [first] = refused
  if (!first) return
  if (jobs.length === 1) throw first.error
  const reason = first.error instanceof Error ? first.error.message : String(first.error)
  throw new Error(`${count(refused.length)} of ${count(jobs.length)} jobs refused. Job ${first.id}: ${reason}`)
}

export function CancelJobs({ jobs, close }: ManyProps) {
  const subject = subjectOf({ jobs })
  return (
    <Confirm
      title={`Cancel ${subject}?`}
      action={`Cancel ${subject}`}
      isDangerous
      act={() => actOnEach({ jobs }, (id) => api.POST('/v1/train/jobs/{job_id}/cancel', params(id)))}
      done={`Cancelled ${subject}`}
      close={close}
    >
      <p>The training ends once its processes are gone. The last checkpoint is kept, so you can resume later.</p>
    </Confirm>
  )
}

export function ResumeJobs({ jobs, close }: ManyProps) {
  const subject = subjectOf({ jobs })
  return (
    <Confirm
      title={`Resume ${subject}?`}
      action={`Resume ${subject}`}
      act={() => actOnEach({ jobs }, (id) => api.POST('/v1/train/jobs/{job_id}/resume', params(id)))}
      done={`Resumed ${subject}`}
      close={close}
    >
      <p>Each goes on from its newest checkpoint, or begins again without one. Resumed jobs wait for a slot.</p>
    </Confirm>
  )
}

export function JobActions({ job }: { job: Job }) {
  const [mayTrain, mayAsk] = [useMay('training'), useMay('inference')]
  const [isCancelling, setCancelling] = useState(false)
  const [isExporting, setExporting] = useState(false)
  const { job_id: id, status } = job
  const isCancelled = job.status_reason === 'cancelling'
  const resume = useMutation({
    mutationFn: () => api.POST('/v1/train/jobs/{job_id}/resume', params(id)),
    onSuccess: () => toast(`Resumed job ${id}`),
    onSettled: () => refreshJobs([id]),
  })
  return (
    <>
      <div className="buttons">
        {mayAsk && job.model_name !== null && (
          <Link
            href={`/playground?models=${encodeURIComponent(job.model_name)},${encodeURIComponent(job.base_model)}&temperature=0`}
            className="button primary"
          >
            Ask the model
          </Link>
        )}
        {job.model_name !== null && (
          <button type="button" onClick={() => setExporting(true)}>
            Export
          </button>
        )}
        {mayTrain && job.resumable && (
          <button type="button" disabled={resume.isPending} onClick={() => resume.mutate()}>
            Resume
          </button>
        )}
        {mayTrain && (
          <Link href={`/new?from=${id}`} className="button">
            Duplicate
          </Link>
        )}
        {mayTrain && isOpen(status) && (
          <button type="button" className="danger" disabled={isCancelled} onClick={() => setCancelling(true)}>
            {isCancelled ? 'Cancelling…' : 'Cancel'}
          </button>
        )}
        {job.links.temporal_ui && (
          <a href={job.links.temporal_ui} target="_blank" rel="noreferrer">
            Open in Temporal
          </a>
        )}
      </div>
      {resume.error && <Failure error={resume.error} />}
      {isExporting && job.model_name && <ExportModel name={job.model_name} close={() => setExporting(false)} />}
      {isCancelling && <CancelJobs jobs={[job]} close={() => setCancelling(false)} />}
    </>
  )
}
