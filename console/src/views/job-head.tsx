// What a job is and how it stands: the first things that one looks for.
import { useMutation, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { send } from '../api/client.ts'
import { datasetVersionsQuery } from '../api/data.ts'
import type { Job } from '../api/job.ts'
import { useMay } from '../api/session.ts'
import { bestStep, type Metric } from '../domain/curve.ts'
import { count, duration, loss, money, parseTime, percent } from '../domain/format.ts'
import { isOpen, sentenceOf } from '../domain/job-list.ts'
import { Facts } from '../ui/facts.tsx'
import { Figures } from '../ui/figures.tsx'
import { Link } from '../ui/router.tsx'
import { save } from '../ui/save.ts'
import { Failure } from '../ui/states.tsx'
import { useNow, When } from '../ui/text.tsx'
import { DatasetLink, DatasetLinks } from './dataset-link.tsx'

/** The base, the data, the method and the device in one line. */
export function JobStrip({ job }: { job: Job }) {
  const versions = useQuery(datasetVersionsQuery(job.dataset_id)).data?.versions ?? []
  const version = versions.find(({ job_ids: ids }) => ids.includes(job.job_id))?.version
  const { gpus, nodes } = job.gpu_config
  const { rows } = job.dataset
  const facts: (readonly [string, ReactNode])[] = [
    ['Base', job.base_model],
    [
      'Data',
      <>
        {job.datasets ? (
          <DatasetLinks sets={job.datasets} />
        ) : (
          <DatasetLink id={job.dataset_id} name={job.dataset.display_name} />
        )}
        {version !== undefined && !job.datasets && ` version ${version}`}
        {rows !== null && `, ${count(rows)} rows`}
      </>,
    ],
    ...(job.skipped_rows ? [['Left out', <SkippedRows id={job.job_id} rows={job.skipped_rows} />] as const] : []),
    ['Method', `${job.method.type}, LoRA of rank ${JSON.stringify(job.finetune_args['r_value'])}`],
    ['Device', gpus === 0 ? 'processor' : `${gpus * nodes} ${gpus * nodes === 1 ? 'GPU' : 'GPUs'}`],
    ['Created', <When at={job.start_time} />],
    ...(job.resume_count > 0 ? [['Resumed', <span>{job.resume_count}×</span>] as const] : []),
  ]
  return <Facts facts={facts} className="strip" />
}

/** The rows that the job left out because they are bad. Their list is a file. */
function SkippedRows({ id, rows }: { id: number; rows: number }) {
  const read = useMutation({
    mutationFn: async () => {
      const answer = await send(`/v1/train/jobs/${id}/skipped-rows`)
      save(`job-${id}-skipped-rows.jsonl`, await answer.blob())
    },
  })
  return (
    <>
      {count(rows)} bad {rows === 1 ? 'row' : 'rows'}{' '}
      <button type="button" className="plain small" disabled={read.isPending} onClick={() => read.mutate()}>
        Download
      </button>
      {read.error && <Failure error={read.error} />}
    </>
  )
}

/** What an open job does next, and what an ended one has come to. */
export function JobFigures({ job, metrics }: { job: Job; metrics: readonly Metric[] }) {
  const open = isOpen(job.status)
  const best = bestStep(metrics)
  const last = metrics.at(-1)
  const step = job.progress?.step ?? last?.step
  const of = plannedSteps(job)
  const left = job.progress?.remaining_seconds
  const { gpu_seconds: gpu } = job.attempts
  const figures: (readonly [string, ReactNode])[] = [
    ...(open ? [] : last ? [['Loss', loss(last.loss)] as const] : []),
    ...(open && step !== undefined ? [['Step', <Steps step={step} of={of} />] as const] : []),
    ...(open && step === undefined && job.queue?.place != null
      ? [['Place in the queue', count(job.queue.place)] as const]
      : []),
    ...(open && left != null ? [['Left', duration(left)] as const] : []),
    ...(open && last ? [['Loss', loss(last.loss)] as const] : []),
    ...(best
      ? [
          [
            'Best held-out loss',
            <>
              {loss(best.value)} <span className="quiet">at step {count(best.step)}</span>
            </>,
          ] as const,
        ]
      : []),
    ...(!open && step !== undefined ? [['Steps', count(step)] as const] : []),
    [open && job.started_at === null ? 'Waiting for' : 'Elapsed', <Elapsed job={job} />],
    ...(job.cost ? [[open ? 'Cost so far' : 'Cost', money(job.cost.micros, job.cost.currency)] as const] : []),
    ...(gpu > 0 ? [[open ? 'GPU time so far' : 'GPU time', duration(gpu)] as const] : []),
  ]
  return <Figures figures={figures} />
}

/** Null while the number of steps is not known. */
export function plannedSteps(job: Pick<Job, 'progress' | 'finetune_args'>): number | null {
  if (job.progress?.of != null) return job.progress.of
  const [epochs, steps] = [job.finetune_args['num_train_epochs'], Number(job.finetune_args['max_steps'] ?? 0)]
  return epochs == null && steps > 0 ? steps : null
}

function Steps({ step, of }: { step: number; of: number | null }) {
  if (of === null) return <>{count(step)}</>
  const share = Math.min(1, step / of)
  return (
    <>
      {count(step)} <span className="quiet">of {count(of)}</span>
      <progress aria-label={`${percent(share)} of the steps`} max={1} value={share} />
    </>
  )
}

/** From the first start of a trainer, or from the acceptance while the job waits. */
function Elapsed({ job }: { job: Job }) {
  const now = useNow(1000, isOpen(job.status))
  const from = parseTime(job.started_at ?? job.start_time)
  const to = job.finished_at === null ? now : parseTime(job.finished_at)
  return <>{duration(Math.max(0, (to.getTime() - from.getTime()) / 1000))}</>
}

/** Why the job waits or has ended otherwise than well, and where to look. */
export function JobReason({ job }: { job: Job }) {
  const mayTrain = useMay('training')
  // The figures have the place in the queue.
  const sentence = job.queue?.place == null ? sentenceOf(job) : job.queue.message
  if (sentence === null) return null
  if (job.status !== 'FAILED') return <p className="notice">{sentence}</p>
  return (
    <section className="notice failure" aria-label="Why the job failed">
      <h2>{capital((job.status_reason ?? 'failed').replaceAll('_', ' '))}</h2>
      <p className="text">{sentence}</p>
      <div className="buttons">
        {job.status_reason === 'data_error' && (
          <Link className="button" href={`/data/${encodeURIComponent(job.dataset_id)}`}>
            Open the data set
          </Link>
        )}
        {job.status_reason === 'data_error' && mayTrain && (
          <Link className="button" href={`/new?from=${job.job_id}`}>
            Start again with other rows
          </Link>
        )}
        {job.attempts.count > 0 && (
          <Link className="button" href={`/jobs/${job.job_id}?tab=log`}>
            Open the log
          </Link>
        )}
      </div>
    </section>
  )
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)
