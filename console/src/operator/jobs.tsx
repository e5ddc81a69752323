// Jobs of all accounts: those that hold a slot, those that are next, those that have failed; and other work that has failed.
import { duration, parseTime } from '../domain/format.ts'
import { Status, useNow, When } from '../ui/text.tsx'
import type { FailedWork as Failed, OperatorJob } from './overview.ts'
import { Table } from './table.tsx'

type Jobs = { jobs: readonly OperatorJob[] }

/** The id of a job stands in logs, in Temporal and in the command line. */
const Name = ({ job_id: id, display_name: name }: OperatorJob) => (
  <span>
    <a href={`#job-${id}`}>{name}</a> <span className="quiet nowrap">job {id}</span>
  </span>
)

const Account = ({ account_id: id, account_name: name }: Pick<OperatorJob, 'account_id' | 'account_name'>) => (
  <span className="roomy" title={id}>
    {name}
  </span>
)

const Dataset = ({ dataset_id: id, dataset_name: name }: OperatorJob) => <span title={id}>{name}</span>

export function Holders({ jobs }: Jobs) {
  const now = useNow()
  const heldFor = (since: string) => duration((now.getTime() - parseTime(since).getTime()) / 1000)
  return (
    <Table
      head={['Job', 'Account', 'State', 'Data set', 'Since', 'For']}
      empty="No job holds a slot."
      rows={jobs.map((job) => [
        <Name {...job} />,
        <Account {...job} />,
        <Status status={job.status} />,
        <Dataset {...job} />,
        job.slot_since === null ? '–' : <When at={job.slot_since} />,
        job.slot_since === null ? '–' : heldFor(job.slot_since),
      ])}
    />
  )
}

export function Next({ jobs, waiting }: Jobs & { waiting: number }) {
  const more = waiting - jobs.length
  return (
    <>
      <Table
        head={['Place', 'Job', 'Account', 'Accepted', 'Waits because']}
        empty="No job waits for a slot."
        rows={jobs.map((job, index) => [
          index + 1,
          <Name {...job} />,
          <Account {...job} />,
          <When at={job.created_at} as="age" />,
          job.status_message ?? job.status_reason ?? '–',
        ])}
      />
      {jobs.length > 1 && (
        <p className="quiet small">
          The jobs of accounts with the fewest slots come first, then those that have waited longest.
        </p>
      )}
      {more > 0 && <p className="quiet">{more} more wait.</p>}
    </>
  )
}

export const Failures = ({ jobs }: Jobs) => (
  <Table
    head={['Job', 'Account', 'Ended', 'Reason', 'Message']}
    empty="No job has failed today (UTC)."
    rows={jobs.map((job) => [
      <Name {...job} />,
      <Account {...job} />,
      job.finished_at === null ? '–' : <When at={job.finished_at} />,
      <span className="nowrap">{job.status_reason?.replaceAll('_', ' ') ?? '–'}</span>,
      job.status_message ?? '–',
    ])}
  />
)

export const FailedWork = ({ work }: { work: readonly Failed[] }) => (
  <Table
    head={['Work', 'Account', 'Ended', 'Message']}
    empty="No batch, evaluation or export has failed today (UTC)."
    rows={work.map(({ id, summary, message, finished_at: at, ...of }) => [
      <span title={id}>{summary}</span>,
      <Account {...of} />,
      <When at={at} />,
      message ?? '–',
    ])}
  />
)
