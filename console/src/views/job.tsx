// One job: what it is, how it goes, what happened to it, and how good it became.
import { useQuery } from '@tanstack/react-query'
import { useFollow } from '../api/job-feed.ts'
import type { Job } from '../api/job.ts'
import { attemptsQuery, eventsQuery, jobQuery, metricsQuery } from '../api/jobs.ts'
import { duration, loss, percent } from '../domain/format.ts'
import { isOpen, nameOf } from '../domain/job-list.ts'
import { bestStep } from '../domain/curve.ts'
import { usePageTitle } from '../ui/page-title.ts'
import { Link, useQueryOfAddress } from '../ui/router.tsx'
import { Answer } from '../ui/states.tsx'
import { Tabs } from '../ui/tabs.tsx'
import { Progress, Status, When } from '../ui/text.tsx'
import { JobActions } from './job-actions.tsx'
import { JobAttempts } from './job-attempts.tsx'
import { JobCheckpoints } from './job-checkpoints.tsx'
import { JobCurve } from './job-curve.tsx'
import { JobEvaluation } from './job-evaluation.tsx'
import { JobEvents, StateWalk } from './job-events.tsx'
import { JobFacts } from './job-facts.tsx'
import { JobLog } from './job-log.tsx'

const tabs = ['answers', 'events', 'log', 'attempts', 'checkpoints', 'arguments'] as const
type Tab = (typeof tabs)[number]

export function JobView({ id }: { id: number }) {
  // The stream is opened once the job is known to be open, and closed with it.
  const first = useQuery(jobQuery(id, true))
  const open = first.data !== undefined && isOpen(first.data.status)
  const isFollowed = useFollow(id, open)
  const job = useQuery(jobQuery(id, isFollowed))
  usePageTitle(job.data ? nameOf(job.data) : `Job ${id}`, open ? shareOf(job.data) : null)
  return (
    <>
      {job.error && !job.data && <h1>Job {id}</h1>}
      <Answer query={job} what="the job">
        {(known) => <JobPage job={known} isFollowed={isFollowed} />}
      </Answer>
    </>
  )
}

/** How much of its steps a job has done. */
function shareOf(job: Job | undefined): number | null {
  const progress = job?.progress
  return progress?.of ? progress.step / progress.of : null
}

function JobPage({ job, isFollowed }: { job: Job; isFollowed: boolean }) {
  const id = job.job_id
  const watched = { isOpen: isOpen(job.status), isFollowed }
  const metrics = useQuery(metricsQuery(id, watched))
  const attempts = useQuery(attemptsQuery(id, watched))
  const events = useQuery(eventsQuery(id, watched))
  const best = bestStep(metrics.data ?? [])
  const last = metrics.data?.at(-1)
  return (
    <>
      <p className="crumbs">
        <Link href="/jobs">Jobs</Link> / {id}
      </p>
      <div className="title">
        <h1>{nameOf(job)}</h1>
        <JobActions job={job} />
      </div>
      <section className="summary" aria-label="State">
        <Status status={job.status} />
        {job.status_reason === 'cancelling' && <span>being cancelled: its processes are ended first</span>}
        <JobProgress job={job} lastStep={last?.step} remaining={last?.remaining_time} />
        {last && <Figure name="Loss" value={loss(last.loss)} />}
        {best && <Figure name="Best held-out loss" value={`${loss(best.value)} at step ${best.step}`} />}
        <Figure name="Submitted" value={<When at={job.start_time} />} />
        {job.resume_count > 0 && <Figure name="Resumed" value={`${job.resume_count}×`} />}
      </section>
      {job.status_message && (
        <p className={job.status === 'FAILED' ? 'notice failure' : 'notice'}>{job.status_message}</p>
      )}
      <Answer query={metrics} what="the curve">
        {(known) => <JobCurve id={id} metrics={known} attempts={attempts.data ?? []} isOpen={watched.isOpen} />}
      </Answer>
      <Answer query={events} what="the events">
        {(known) => <StateWalk events={known} isOpen={watched.isOpen} />}
      </Answer>
      <Parts>
        {(tab) => {
          if (tab === 'events')
            return (
              <Answer query={events} what="the events">
                {(known) => <JobEvents events={known} />}
              </Answer>
            )
          if (tab === 'log') return <JobLog id={id} {...watched} attempts={attempts.data ?? []} />
          if (tab === 'attempts')
            return (
              <Answer query={attempts} what="the attempts">
                {(known) => <JobAttempts attempts={known} />}
              </Answer>
            )
          if (tab === 'checkpoints') return <JobCheckpoints job={job} isOpen={watched.isOpen} />
          if (tab === 'arguments') return <JobFacts job={job} />
          return <JobEvaluation job={job} />
        }}
      </Parts>
    </>
  )
}

function Figure({ name, value }: { name: string; value: React.ReactNode }) {
  return (
    <span className="figure">
      <span className="quiet">{name}</span> <strong>{value}</strong>
    </span>
  )
}

type ProgressProps = { job: Job; lastStep: number | undefined; remaining: number | null | undefined }

function JobProgress({ job, lastStep, remaining }: ProgressProps) {
  if (!isOpen(job.status)) return null
  const step = job.progress?.step ?? lastStep
  if (step === undefined) return job.queue ? <Figure name="Ahead" value={job.queue.ahead ?? '–'} /> : null
  const planned = Number(job.finetune_args['max_steps'] ?? 0)
  const of = job.progress?.of ?? (planned > 0 ? planned : null)
  const left = job.progress?.remaining_seconds ?? (job.status === 'TRAINING MODEL' ? remaining : null)
  const parts = [
    of === null ? `step ${step}` : `step ${step} of ${of}, ${percent(step / of)}`,
    ...(left == null ? [] : [`${duration(left)} left`]),
  ]
  return <Progress share={of === null ? null : step / of} label={parts.join(' · ')} />
}

/** The chosen part of the page is in its address. */
function Parts({ children }: { children: (tab: Tab) => React.ReactNode }) {
  const [query, change] = useQueryOfAddress()
  const tab = tabs.find((each) => each === query.get('tab')) ?? 'answers'
  return (
    <>
      <Tabs label="Parts of the job" value={tab} values={tabs} onChange={(each) => change({ tab: each })} />
      <section aria-label={tab}>{children(tab)}</section>
    </>
  )
}
