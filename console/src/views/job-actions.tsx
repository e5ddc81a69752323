// What can be done to jobs, each with a sentence about its consequence.
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api/client.ts'
import type { Job } from '../api/job.ts'
import { refreshJobs } from '../api/jobs.ts'
import { useMay } from '../api/session.ts'
import { canResume, isOpen } from '../domain/job-list.ts'
import { Confirm } from '../ui/confirm.tsx'
import { Link } from '../ui/router.tsx'
import { Failure } from '../ui/states.tsx'
import { ExportModel } from './export-model.tsx'

const params = (id: number) => ({ params: { path: { job_id: id } } })

type CancelProps = { jobs: readonly { job_id: number }[]; close: () => void }

export function CancelJobs({ jobs, close }: CancelProps) {
  const ids = jobs.map(({ job_id: id }) => id)
  const cancel = async () => {
    try {
      for (const id of ids) await api.POST('/v1/train/jobs/{job_id}/cancel', params(id))
    } finally {
      void refreshJobs(ids)
    }
  }
  const subject = ids.length === 1 ? `job ${ids[0] ?? ''}` : `${ids.length} jobs`
  return (
    <Confirm title={`Cancel ${subject}?`} action={`Cancel ${subject}`} isDangerous act={cancel} close={close}>
      <p>The training ends once its processes are gone. The last checkpoint is kept, so you can resume later.</p>
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
        {mayTrain && canResume(status) && (
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
            Workflow
          </a>
        )}
      </div>
      {resume.error && <Failure error={resume.error} />}
      {isExporting && job.model_name && <ExportModel name={job.model_name} close={() => setExporting(false)} />}
      {isCancelling && <CancelJobs jobs={[job]} close={() => setCancelling(false)} />}
    </>
  )
}
