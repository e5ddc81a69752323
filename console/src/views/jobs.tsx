// All jobs of the account. Filter, order and search are in the address of the page.
import { useMemo, useRef, useState } from 'react'
import type { JobSummary } from '../api/job.ts'
import { useJobs } from '../api/jobs.ts'
import { useMay } from '../api/session.ts'
import { chosenJobs, groupNames, isOpen, readFilter, sorts, writeFilter, type JobFilter } from '../domain/job-list.ts'
import { count } from '../domain/format.ts'
import { useKeys } from '../ui/keys.ts'
import { Choice, Labelled } from '../ui/labelled.tsx'
import { usePageTitle } from '../ui/page-title.ts'
import { Link, useQueryOfAddress, useSearch } from '../ui/router.tsx'
import { Answer, Empty } from '../ui/states.tsx'
import { useRowWindow } from '../ui/window.ts'
import { CancelJobs } from './job-actions.tsx'
import { JobRow, rowHeight } from './job-row.tsx'

export function JobsView() {
  usePageTitle('Jobs')
  const jobs = useJobs()
  const mayTrain = useMay('training')
  return (
    <>
      <div className="title">
        <h1>Jobs</h1>
        {mayTrain && (
          <Link href="/new" className="button primary">
            New job
          </Link>
        )}
      </div>
      <Answer query={jobs} what="the jobs">
        {(all) => (all.length === 0 ? <NoJobs mayTrain={mayTrain} /> : <JobTable all={all} mayTrain={mayTrain} />)}
      </Answer>
    </>
  )
}

function NoJobs({ mayTrain }: { mayTrain: boolean }) {
  return (
    <Empty>
      <h2>No job yet</h2>
      <p>A job fine-tunes a model on your rows of input and output.</p>
      {mayTrain ? <Link href="/new">Start the first one</Link> : <p>This key may read only.</p>}
    </Empty>
  )
}

function JobTable({ all, mayTrain }: { all: JobSummary[]; mayTrain: boolean }) {
  const search = useSearch()
  const [, changeQuery] = useQueryOfAddress()
  const filter = useMemo(() => readFilter(search), [search])
  const { selected } = filter
  const shown = useMemo(() => chosenJobs(all, filter), [all, filter])
  const [current, setCurrent] = useState(-1)
  const [isCancelling, setCancelling] = useState(false)
  const body = useRef<HTMLTableSectionElement>(null)
  const rows = useRowWindow(body, shown.length, rowHeight)

  const write = (changes: Partial<JobFilter>) => changeQuery(writeFilter({ ...filter, ...changes }))
  const change = (changes: Partial<JobFilter>) => {
    setCurrent(-1)
    write(changes)
  }
  const toggle = (id: number) => write({ selected: selected.symmetricDifference(new Set([id])) })
  /** The row that has the focus, or had it last. */
  const present = () => {
    const id = Number(document.activeElement?.closest('tr')?.dataset['job'])
    const focused = shown.findIndex((job) => job.job_id === id)
    return focused === -1 ? current : focused
  }
  const move = (by: number) => {
    const next = Math.max(0, Math.min(shown.length - 1, present() + by))
    setCurrent(next)
    const top = (body.current?.getBoundingClientRect().top ?? 0) + next * rowHeight
    if (top < 120) window.scrollBy({ top: top - 120 })
    else if (top > window.innerHeight - 80) window.scrollBy({ top: top - window.innerHeight + 80 })
  }
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    x: () => {
      const job = shown[present()]
      if (job) toggle(job.job_id)
    },
  })
  const chosen = shown.filter(({ job_id: id }) => selected.has(id))
  const open = chosen.filter(({ status }) => isOpen(status))
  return (
    <>
      <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <Labelled name="Search">
          <input
            type="search"
            value={filter.text}
            placeholder="name, data set, model, number"
            onChange={(event) => change({ text: event.target.value })}
            onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
          />
        </Labelled>
        <Choice label="Show" value={filter.group} values={groupNames} onChange={(group) => change({ group })} />
        <Choice label="Order" value={filter.sort} values={sorts} onChange={(sort) => change({ sort })} />
        <p className="quiet" role="status">
          {shown.length === all.length ? `${count(all.length)} jobs` : `${count(shown.length)} of ${count(all.length)}`}
        </p>
        {chosen.length > 0 && (
          <p className="selection">
            {chosen.length} selected
            {chosen.length >= 2 && chosen.length <= 8 && (
              <Link href={`/compare?jobs=${chosen.map(({ job_id: id }) => id).join(',')}`}>Compare</Link>
            )}
            {mayTrain && open.length > 0 && (
              <button type="button" className="danger" onClick={() => setCancelling(true)}>
                Cancel {open.length}
              </button>
            )}
            <button type="button" onClick={() => write({ selected: new Set() })}>
              Clear
            </button>
          </p>
        )}
      </form>
      {shown.length === 0 ? (
        <Empty>
          <p>No job fits this filter.</p>
          <button type="button" onClick={() => change({ group: 'all', text: '' })}>
            Show all
          </button>
        </Empty>
      ) : (
        <table className="list jobs" aria-rowcount={shown.length + 1}>
          <thead>
            <tr>
              <th scope="col" className="select">
                <span className="hidden">Selected</span>
              </th>
              <th scope="col">Job</th>
              <th scope="col" className="reason">
                Status
              </th>
              <th scope="col" className="wide">
                Base
              </th>
              <th scope="col">Progress</th>
              <th scope="col" className="wide">
                Loss
              </th>
              <th scope="col" className="wide number">
                Held-out loss
              </th>
              <th scope="col" className="wide number">
                GPU time
              </th>
              <th scope="col" className="medium">
                Submitted
              </th>
            </tr>
          </thead>
          <tbody ref={body}>
            {rows.before > 0 && <tr aria-hidden="true" style={{ height: rows.before }} />}
            {shown.slice(rows.from, rows.to).map((job, index) => (
              <JobRow
                key={job.job_id}
                job={job}
                position={rows.from + index + 2}
                isCurrent={rows.from + index === current}
                isSelected={selected.has(job.job_id)}
                select={toggle}
              />
            ))}
            {rows.after > 0 && <tr aria-hidden="true" style={{ height: rows.after }} />}
          </tbody>
        </table>
      )}
      {isCancelling && <CancelJobs jobs={open} close={() => setCancelling(false)} />}
    </>
  )
}
