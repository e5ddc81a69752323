// What can be done to the selected jobs, or to all jobs of the filter.
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { allJobs } from '../api/job-list.ts'
import type { JobBrief } from '../api/job.ts'
import { isOpen, type JobsQuery, type Selection } from '../domain/job-list.ts'
import { count } from '../domain/format.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Link } from '../ui/router.tsx'
import { Failure, Loading } from '../ui/states.tsx'
import { CancelJobs, ResumeJobs } from './job-actions.tsx'

type Props = {
  selected: Selection
  /** The jobs that were read. */
  jobs: readonly JobBrief[]
  /** Whether the filter has jobs that were not read. */
  hasMore: boolean
  query: JobsQuery
  mayTrain: boolean
  select: (selected: Selection) => void
}

type Action = 'cancel' | 'resume'
const fits = {
  cancel: ({ status }) => isOpen(status),
  resume: ({ resumable }) => resumable,
} satisfies Record<Action, (job: JobBrief) => boolean>

const mostCompared = 8

export function JobSelection({ selected, jobs, hasMore, query, mayTrain, select }: Props) {
  const [action, setAction] = useState<Action | null>(null)
  const chosen = selected === 'all' ? jobs : jobs.filter(({ job_id: id }) => selected.has(id))
  if (chosen.length === 0) return null
  const isAll = selected === 'all' && hasMore
  const number = (act: Action) => chosen.filter(fits[act]).length
  const said = (act: Action) => (isAll ? 'all' : count(number(act)))
  return (
    <div className="selection" role="group" aria-label="Selected jobs">
      <strong>{isAll ? 'All jobs of the filter' : `${count(chosen.length)} selected`}</strong>
      {hasMore && selected !== 'all' && chosen.length === jobs.length && (
        <button type="button" className="small" onClick={() => select('all')}>
          Select all jobs of the filter
        </button>
      )}
      {!isAll && chosen.length >= 2 && chosen.length <= mostCompared && (
        <Link className="button small" href={`/compare?jobs=${chosen.map(({ job_id: id }) => id).join(',')}`}>
          Compare
        </Link>
      )}
      {mayTrain && (isAll || number('resume') > 0) && (
        <button type="button" className="small" onClick={() => setAction('resume')}>
          Resume {said('resume')}
        </button>
      )}
      {mayTrain && (isAll || number('cancel') > 0) && (
        <button type="button" className="small danger" onClick={() => setAction('cancel')}>
          Cancel {said('cancel')}
        </button>
      )}
      <button type="button" className="small plain" onClick={() => select(new Set())}>
        Clear
      </button>
      {action && isAll && <ActOnAll action={action} query={query} close={() => setAction(null)} />}
      {action && !isAll && <Act action={action} jobs={chosen} close={() => setAction(null)} />}
    </div>
  )
}

function Act({ action, jobs, close }: { action: Action; jobs: readonly JobBrief[]; close: () => void }) {
  const fitting = jobs.filter(fits[action])
  return action === 'cancel' ? <CancelJobs jobs={fitting} close={close} /> : <ResumeJobs jobs={fitting} close={close} />
}

/** Reads the jobs of the filter first, so that the question has their number. */
function ActOnAll({ action, query, close }: { action: Action; query: JobsQuery; close: () => void }) {
  const all = useQuery({
    queryKey: ['all jobs', query],
    queryFn: ({ signal }) => allJobs(query, signal),
    gcTime: 0,
  })
  if (!all.data)
    return (
      <Dialog title="All jobs of the filter" close={close}>
        {all.error ? <Failure error={all.error} /> : <Loading what="the jobs of the filter" />}
      </Dialog>
    )
  if (!all.data.some(fits[action]))
    return (
      <Dialog title={action === 'cancel' ? 'Nothing to cancel' : 'Nothing to resume'} close={close}>
        <p>{action === 'cancel' ? 'No job of the filter is open.' : 'No job of the filter can be resumed.'}</p>
        <div className="buttons">
          <button type="button" className="primary" onClick={close}>
            Close
          </button>
        </div>
      </Dialog>
    )
  return <Act action={action} jobs={all.data} close={close} />
}
