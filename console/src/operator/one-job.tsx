// One job of any account: why it waits or how it ended, what it cost, and what happened. The address of the page names it.
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { ApiError } from '../api/errors.ts'
import { count, duration, money } from '../domain/format.ts'
import { Facts } from '../ui/facts.tsx'
import { Answer } from '../ui/states.tsx'
import { Status, When } from '../ui/text.tsx'
import { readJob, type JobRecord } from './overview.ts'
import { Table } from './table.tsx'

const everyMs = 5000

const followAddress = (tell: () => void) => {
  addEventListener('hashchange', tell)
  return () => removeEventListener('hashchange', tell)
}
const askedJob = () => /^#job-(\d+)$/.exec(location.hash)?.[1] ?? null

/** The number of the job that the address names; null without one. */
export const useAskedJob = () => useSyncExternalStore(followAddress, askedJob)

export function FindJob({ asked }: { asked: string | null }) {
  const [text, setText] = useState(asked ?? '')
  return (
    <form
      className="filters"
      onSubmit={(event) => {
        event.preventDefault()
        location.hash = `job-${text}`
      }}
    >
      <label>
        <span className="quiet">Number of the job</span>
        <input
          inputMode="numeric"
          pattern="[0-9]+"
          required
          size={10}
          value={text}
          onChange={(event) => setText(event.target.value.trim())}
        />
      </label>
      <button type="submit">Show</button>
    </form>
  )
}

export function OneJob({ id, token }: { id: string; token: string }) {
  const place = useRef<HTMLDivElement>(null)
  // A name in a table further down leads here.
  useEffect(() => {
    place.current?.scrollIntoView({ block: 'center' })
  }, [])
  const job = useQuery<JobRecord>({
    queryKey: ['job', token, id],
    refetchInterval: ({ state }) => (state.error instanceof ApiError ? false : everyMs),
    queryFn: ({ signal }) => readJob(token, id, signal),
  })
  return (
    <div ref={place} id={`job-${id}`}>
      <Answer query={job} what="the job">
        {(record) => <Shown job={record} />}
      </Answer>
    </div>
  )
}

function Shown({ job }: { job: JobRecord }) {
  const why = job.status_message ?? job.status_reason
  return (
    <>
      <h3>{job.display_name}</h3>
      <p>
        <Status status={job.status} />
        {why !== null && ` – ${why}`}
      </p>
      <Facts className="strip" facts={factsOf(job)} />
      <Table
        head={['What', 'Message', 'By', 'When']}
        empty="Nothing has happened yet."
        rows={job.newest_events
          .filter(({ reason }) => reason !== 'checkpoint_committed')
          .slice(0, mostEvents)
          .map(({ kind, status, reason, message, actor, actor_name: name, at }) => [
            status === null ? (reason ?? kind).replaceAll('_', ' ') : <Status status={status} />,
            message ?? '–',
            <span title={actor}>{name ?? actor}</span>,
            <When at={at} />,
          ])}
      />
    </>
  )
}

/** A long training has a checkpoint every minute, which would leave no room for other events. */
const mostEvents = 12

function factsOf(job: JobRecord): (readonly [string, React.ReactNode])[] {
  const { queue, progress, cost, links } = job
  return [
    ['Account', <span title={job.account_id}>{job.account_name}</span>],
    ['Base', job.base_model],
    ['Data set', <span title={job.dataset_id}>{job.dataset.display_name}</span>],
    ['Accepted', <When at={job.created_at} />],
    ...(job.finished_at === null ? [] : [['Ended', <When at={job.finished_at} />] as const]),
    ...(queue?.ahead == null ? [] : [['Ahead', count(queue.ahead)] as const]),
    ...(progress === null ? [] : [['Step', `${count(progress.step)} of ${count(progress.of ?? 0)}`] as const]),
    ['Attempts', count(job.attempts.count)],
    ['Training', duration(job.attempts.training_seconds)],
    ...(cost === undefined
      ? []
      : [[job.finished_at === null ? 'Cost so far' : 'Cost', money(cost.micros, cost.currency)] as const]),
    ...(links.temporal_ui === null
      ? []
      : [
          [
            'Workflow',
            <a href={links.temporal_ui} target="_blank" rel="noreferrer">
              Open in Temporal
            </a>,
          ] as const,
        ]),
  ]
}
