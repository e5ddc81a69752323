import type { JobEvent } from '../api/job.ts'
import { runsOf, stays } from '../domain/history.ts'
import { duration } from '../domain/format.ts'
import { Empty } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { bothTimes, Status, useNow, When } from '../ui/text.tsx'

/** The states that the job went through, a row for each run, and how long it was in each. */
export function StateWalk({ events, isOpen }: { events: JobEvent[]; isOpen: boolean }) {
  const now = useNow(1000, isOpen)
  const runs = runsOf(stays(events, { now, isOpen }))
  return (
    <div className="walks">
      {runs.map((walk, run) => (
        <div key={run}>
          {runs.length > 1 && <span className="quiet small">{run === 0 ? 'First run' : `Resume ${run}`}</span>}
          <ol className="walk" aria-label={`States of the job${runs.length > 1 ? `, run ${run + 1}` : ''}`}>
            {walk.map(({ status, from, seconds, isNow }, index) => (
              <li key={`${index} ${status}`} aria-current={isNow ? 'step' : undefined}>
                <Status status={status} />
                <span className="quiet" title={bothTimes(from)}>
                  {seconds > 0 || isNow ? duration(seconds) : ' '}
                </span>
              </li>
            ))}
          </ol>
        </div>
      ))}
    </div>
  )
}

export function JobEvents({ events }: { events: JobEvent[] }) {
  if (events.length === 0) return <Empty>Nothing has happened yet.</Empty>
  return (
    <Table
      label="Events"
      isDense
      rows={events.toReversed()}
      keyOf={({ id }) => id}
      columns={[
        {
          name: 'What',
          isHead: true,
          className: 'text',
          cell: ({ kind, status, reason, message }) => (
            <span>
              {kind === 'status' && status ? <Status status={status} /> : kind.replaceAll('_', ' ')}
              {(message ?? reason) ? ` – ${message ?? reason ?? ''}` : ''}
            </span>
          ),
        },
        { name: 'Attempt', className: 'number', cell: ({ attempt }) => attempt ?? '–' },
        { name: 'By', cell: ({ actor, actor_name: name }) => <span title={actor}>{name ?? actor}</span> },
        { name: 'When', className: 'nowrap', cell: ({ at }) => <When at={at} /> },
      ]}
    />
  )
}
