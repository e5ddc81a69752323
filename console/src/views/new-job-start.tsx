// What a new job will take, and its start.
import { useMutation, useQuery } from '@tanstack/react-query'
import { useEffect, useState, type ReactNode } from 'react'
import { api } from '../api/client.ts'
import { ApiError } from '../api/errors.ts'
import { forgetDraft } from '../api/job-draft.ts'
import { estimateQuery, refreshJobs } from '../api/jobs.ts'
import { count } from '../domain/format.ts'
import type { TrainRequest } from '../domain/job-form.ts'
import { Card } from '../ui/card.tsx'
import { Commands } from '../ui/commands.tsx'
import { randomId } from '../ui/random-id.ts'
import { useLocation } from '../ui/router.tsx'
import { Answer, Failure } from '../ui/states.tsx'
import { toast } from '../ui/toast.tsx'
import { EstimateRange } from './job-estimate.tsx'

type Props = {
  request: { value?: TrainRequest; problem?: string }
  /** What the form still lacks; null when the job can be submitted. */
  missing: string | null
  /** What is told before the start. */
  children?: ReactNode
}

/** Submits the request. A repeat after a lost answer gives the same job: one key stands for one content. */
export function useSubmit(body: string) {
  const [, navigate] = useLocation()
  const [key, setKey] = useState(randomId)
  useEffect(() => setKey(randomId()), [body])
  return useMutation({
    mutationFn: (train: TrainRequest) => api.POST('/v1/train', { body: train, headers: { 'Idempotency-Key': key } }),
    onSuccess: (accepted) => {
      forgetDraft()
      void refreshJobs()
      if (!('job_id' in accepted)) return
      toast(`Created job ${accepted.job_id}`)
      navigate(`/jobs/${accepted.job_id}`)
    },
  })
}

/** What the service says of fields, at the dry run or at the start, by their paths. */
export function useProblems({
  request,
  missing,
  submit,
}: Parameters<typeof StartPart>[0]): ReadonlyMap<string, string> {
  const { value = { model_name: '', dataset_id: '' } } = request
  const dryRun = useQuery({ ...estimateQuery(value), enabled: missing === null && request.value !== undefined })
  const issues = [dryRun.error, submit.error].flatMap((error) => (error instanceof ApiError ? error.issues : []))
  return new Map(issues.map(({ path, message }) => [path, message]))
}

export function StartPart({ request, missing, submit, children }: Props & { submit: ReturnType<typeof useSubmit> }) {
  const { error } = submit
  return (
    <Card title="Start">
      {missing !== null && <p className="quiet">{missing}</p>}
      {missing === null && children}
      {missing === null && request.value && <Estimate request={request.value} />}
      {request.problem && <p className="notice failure">{request.problem}</p>}
      {error && <Failure error={error} />}
      {error instanceof ApiError && error.issues.length > 1 && (
        <ul>
          {error.issues.map(({ path, message }) => (
            <li key={path}>{message}</li>
          ))}
        </ul>
      )}
      <button type="submit" className="primary start" disabled={missing !== null || !request.value || submit.isPending}>
        Start training
      </button>
      {request.value && <Commands path="/v1/train" body={request.value} />}
    </Card>
  )
}

function Estimate({ request }: { request: TrainRequest }) {
  const estimate = useQuery(estimateQuery(request))
  return (
    <Answer query={estimate} what="the estimate">
      {({ rows, steps, epochs, estimated_seconds: seconds, skipped_rows: skipped = 0, note, warnings = [] }) => (
        <>
          {seconds && <EstimateRange seconds={seconds} />}
          <p role="status">
            {count(rows - skipped)} rows, {count(steps)} steps, {Number(epochs.toFixed(2))} epochs.
          </p>
          {note && <p className="quiet small">{note}</p>}
          {warnings.map((warning) => (
            <p key={warning} className="notice warning">
              {warning}
            </p>
          ))}
        </>
      )}
    </Answer>
  )
}
