// One job: what it is, how it goes, what happened to it, and how good it became.
import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useFollow } from '../api/job-feed.ts'
import type { Attempt, Job, JobEvent } from '../api/job.ts'
import { attemptsQuery, eventsQuery, jobQuery, metricsQuery } from '../api/jobs.ts'
import { isOpen } from '../domain/job-list.ts'
import { usePageTitle } from '../ui/page-title.ts'
import { Link, useQueryOfAddress } from '../ui/router.tsx'
import { Answer } from '../ui/states.tsx'
import { Tabs } from '../ui/tabs.tsx'
import { Status } from '../ui/text.tsx'
import { Warnings } from '../ui/warnings.tsx'
import { JobActions } from './job-actions.tsx'
import { JobAttempts } from './job-attempts.tsx'
import { JobCheckpoints } from './job-checkpoints.tsx'
import { JobCurve } from './job-curve.tsx'
import { JobEstimate } from './job-estimate.tsx'
import { JobEvaluation } from './job-evaluation.tsx'
import { JobEvents, StateWalk } from './job-events.tsx'
import { JobFacts } from './job-facts.tsx'
import { JobFigures, JobReason, JobStrip, plannedSteps } from './job-head.tsx'
import { JobLog } from './job-log.tsx'
import { JobRollouts } from './job-rollouts.tsx'

export function JobView({ id }: { id: number }) {
  // The stream is opened once the job is known to be open, and closed with it.
  const first = useQuery(jobQuery(id, true))
  const open = first.data !== undefined && isOpen(first.data.status)
  const isFollowed = useFollow(id, open)
  const job = useQuery(jobQuery(id, isFollowed))
  usePageTitle(job.data?.display_name ?? `Job ${id}`, open ? shareOf(job.data) : null)
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
  const end = watched.isOpen ? { steps: plannedSteps(job), secondsLeft: job.progress?.remaining_seconds ?? null } : null
  return (
    <>
      <p className="crumbs">
        <Link href="/jobs">Jobs</Link> / {id}
      </p>
      <div className="title">
        <div className="heading">
          <h1 title={job.model_name ?? undefined}>{job.display_name}</h1>
          <Status status={job.status} />
        </div>
        <JobActions job={job} />
      </div>
      <JobStrip job={job} />
      <JobReason job={job} />
      <Warnings warnings={job.warnings} />
      <JobFigures job={job} metrics={metrics.data ?? []} />
      <Answer query={metrics} what="the curve">
        {(known) =>
          known.length > 0 ? (
            <JobCurve id={id} metrics={known} attempts={attempts.data ?? []} end={end} />
          ) : (
            watched.isOpen && <JobEstimate job={job} />
          )
        }
      </Answer>
      <Answer query={events} what="the events">
        {(known) => <StateWalk events={known} isOpen={watched.isOpen} />}
      </Answer>
      <Parts job={job} watched={watched} events={events} attempts={attempts} />
    </>
  )
}

const tabs = ['answers', 'samples', 'log', 'events', 'attempts', 'checkpoints', 'arguments'] as const
type Tab = (typeof tabs)[number]

/** Only a training by rewards samples answers. */
const tabsOf = ({ method }: Job) => tabs.filter((tab) => tab !== 'samples' || method.type === 'reinforcement')

/** The part that has most to say at this time. */
function firstTab({ status, attempts, model_name: model }: Job): Tab {
  if (!isOpen(status) && model !== null) return 'answers'
  return attempts.count === 0 ? 'events' : 'log'
}

type PartsProps = {
  job: Job
  watched: { isOpen: boolean; isFollowed: boolean }
  events: UseQueryResult<JobEvent[]>
  attempts: UseQueryResult<Attempt[]>
}

/** The chosen part of the page is in its address. */
function Parts({ job, watched, events, attempts }: PartsProps) {
  const [query, change] = useQueryOfAddress()
  const shown = tabsOf(job)
  const tab = shown.find((each) => each === query.get('tab')) ?? firstTab(job)
  const parts: Record<Tab, () => ReactNode> = {
    answers: () => <JobEvaluation job={job} />,
    samples: () => <JobRollouts job={job} isOpen={watched.isOpen} />,
    log: () => <JobLog id={job.job_id} {...watched} attempts={attempts.data ?? []} />,
    events: () => (
      <Answer query={events} what="the events">
        {(known) => <JobEvents events={known} />}
      </Answer>
    ),
    attempts: () => (
      <Answer query={attempts} what="the attempts">
        {(known) => <JobAttempts attempts={known} />}
      </Answer>
    ),
    checkpoints: () => <JobCheckpoints job={job} isOpen={watched.isOpen} />,
    arguments: () => <JobFacts job={job} />,
  }
  return (
    <>
      <Tabs label="Parts of the job" value={tab} values={shown} onChange={(each) => change({ tab: each })} />
      <section aria-label={tab}>{parts[tab]()}</section>
    </>
  )
}
