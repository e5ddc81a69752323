// All jobs of the account, newest first. The filter and the selection are in the address of the page.
import { useEffect, useMemo, useRef } from 'react'
import { useJobPages, useOpenJobs } from '../api/job-list.ts'
import type { JobBrief } from '../api/job.ts'
import { useMay } from '../api/session.ts'
import {
  isFiltered,
  noFilter,
  queryOf,
  readFilter,
  readSelection,
  writeFilter,
  writeSelection,
  type JobFilter,
  type Selection,
} from '../domain/job-list.ts'
import { count } from '../domain/format.ts'
import { useKeys } from '../ui/keys.ts'
import { useNarrow } from '../ui/narrow.ts'
import { usePageTitle } from '../ui/page-title.ts'
import { Link, useQueryOfAddress, useSearch } from '../ui/router.tsx'
import { Empty, Failure, Loading } from '../ui/states.tsx'
import { useRowWindow } from '../ui/window.ts'
import { JobFilters } from './job-filters.tsx'
import { JobRow, rowHeight, type JobColumns } from './job-row.tsx'
import { JobSelection } from './job-selection.tsx'

export function JobsView() {
  usePageTitle('Jobs')
  const mayTrain = useMay('training')
  const search = useSearch()
  const [, changeQuery] = useQueryOfAddress()
  const filter = useMemo(() => readFilter(search), [search])
  const pages = useJobPages(queryOf(filter))
  const jobs = useMemo(() => pages.data?.pages.flatMap((page) => page.jobs) ?? [], [pages.data])
  const change = (changes: Partial<JobFilter>) =>
    changeQuery({ ...writeFilter({ ...filter, ...changes }), selected: '' })
  const isSearching = pages.isFetchingNextPage || pages.isPlaceholderData
  const isEmpty = jobs.length === 0 && !pages.hasNextPage
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
      {pages.data && !(isEmpty && !isFiltered(filter)) && (
        <JobFilters
          filter={filter}
          change={change}
          jobs={jobs}
          found={isSearching ? 'Reading more…' : `${count(jobs.length)}${pages.hasNextPage ? ' or more' : ''} jobs`}
        />
      )}
      {pages.error && !pages.data && <Failure error={pages.error} retry={() => void pages.refetch()} />}
      {!pages.data && !pages.error && <Loading what="the jobs" />}
      {pages.data && isEmpty && (isFiltered(filter) ? <NoneFound change={change} /> : <NoJobs mayTrain={mayTrain} />)}
      {pages.data && !isEmpty && (
        <JobTable
          jobs={jobs}
          mayTrain={mayTrain}
          filter={filter}
          hasMore={pages.hasNextPage}
          readMore={pages.isFetching ? null : () => void pages.fetchNextPage()}
        />
      )}
    </>
  )
}

const NoneFound = ({ change }: { change: (filter: JobFilter) => void }) => (
  <Empty>
    <p>No job fits this filter.</p>
    <button type="button" onClick={() => change(noFilter)}>
      Show all
    </button>
  </Empty>
)

function NoJobs({ mayTrain }: { mayTrain: boolean }) {
  return (
    <Empty>
      <h2>No job yet</h2>
      <p>A job fine-tunes a model on your rows: questions with answers, conversations, or plain texts.</p>
      {mayTrain ? (
        <Link href="/new" className="button primary">
          Start the first one
        </Link>
      ) : (
        <p>You may read here, and start no job.</p>
      )}
    </Empty>
  )
}

type TableProps = {
  jobs: JobBrief[]
  mayTrain: boolean
  filter: JobFilter
  hasMore: boolean
  /** Null while pages are read. */
  readMore: (() => void) | null
}

function JobTable({ jobs, mayTrain, filter, hasMore, readMore }: TableProps) {
  const search = useSearch()
  const [, changeQuery] = useQueryOfAddress()
  const selected = useMemo(() => readSelection(search), [search])
  const body = useRef<HTMLTableSectionElement>(null)
  const height = useNarrow() ? rowHeight.narrow : rowHeight.wide
  const rows = useRowWindow(body, jobs.length, height)
  const shown = jobs.slice(rows.from, rows.to)
  useOpenJobs(shown)
  useEffect(() => {
    if (hasMore && rows.to >= jobs.length) readMore?.()
  })
  const columns = useMemo(() => columnsOf(jobs), [jobs])
  const select = (to: Selection) => changeQuery(writeSelection(to))
  const toggle = (id: number) => {
    const ids = selected === 'all' ? new Set(jobs.map(({ job_id: each }) => each)) : selected
    select(ids.symmetricDifference(new Set([id])))
  }
  useRowKeys({ body, count: jobs.length, height, toggle: (index) => jobs[index] && toggle(jobs[index].job_id) })
  const hasAll = selected === 'all' || (jobs.length > 0 && jobs.every(({ job_id: id }) => selected.has(id)))
  return (
    <>
      <JobSelection
        selected={selected}
        jobs={jobs}
        hasMore={hasMore}
        query={queryOf(filter)}
        mayTrain={mayTrain}
        select={select}
      />
      <table className="list job-list" aria-rowcount={hasMore ? -1 : jobs.length + 1}>
        <JobHead
          columns={columns}
          hasAll={hasAll}
          selectAll={() => select(new Set(hasAll ? [] : jobs.map(({ job_id: id }) => id)))}
        />
        <tbody ref={body}>
          {rows.before > 0 && <tr aria-hidden="true" style={{ height: rows.before }} />}
          {shown.map((job, index) => (
            <JobRow
              key={job.job_id}
              job={job}
              position={rows.from + index + 2}
              isSelected={selected === 'all' || selected.has(job.job_id)}
              select={toggle}
              columns={columns}
            />
          ))}
          {rows.after > 0 && <tr aria-hidden="true" style={{ height: rows.after }} />}
        </tbody>
      </table>
    </>
  )
}

/** A column that is empty for all jobs is left out. */
const columnsOf = (jobs: readonly JobBrief[]): JobColumns => ({
  hasLoss: jobs.some(({ losses }) => losses.length > 0),
  hasHeldOut: jobs.some(({ valid_loss: held }) => held !== null),
  hasGpu: jobs.some(({ gpu_seconds: seconds }) => seconds > 0),
})

function JobHead({ columns, hasAll, selectAll }: { columns: JobColumns; hasAll: boolean; selectAll: () => void }) {
  return (
    <thead>
      <tr>
        <th scope="col" className="select">
          <input type="checkbox" aria-label="Select all jobs that are read" checked={hasAll} onChange={selectAll} />
        </th>
        <th scope="col">Job</th>
        <th scope="col" className="job-state">
          Status
        </th>
        <th scope="col" className="wide base">
          Base and data
        </th>
        {columns.hasLoss && (
          <th scope="col" className="medium loss">
            Loss
          </th>
        )}
        {columns.hasHeldOut && (
          <th scope="col" className="wide number">
            Held-out loss
          </th>
        )}
        <th scope="col" className="wide number">
          {columns.hasGpu ? 'GPU time' : 'Time'}
        </th>
        <th scope="col" className="age number">
          Created
        </th>
      </tr>
    </thead>
  )
}

type RowKeys = {
  body: React.RefObject<HTMLTableSectionElement | null>
  count: number
  height: number
  toggle: (index: number) => void
}

/** `j` and `k` move the focus from row to row, also to rows that are not drawn yet; `x` selects the row with the focus. */
function useRowKeys({ body, count: rowCount, height, toggle }: RowKeys) {
  const wanted = useRef<number | null>(null)
  const last = useRef(-1)
  const rowOf = (element: Element | null) => Number(element?.closest('tr')?.getAttribute('aria-rowindex') ?? 0) - 2
  const now = () => {
    const focused = body.current?.contains(document.activeElement) ? rowOf(document.activeElement) : -1
    return focused >= 0 ? focused : last.current
  }
  const focusWanted = () => {
    const link = body.current?.querySelector<HTMLElement>(`tr[aria-rowindex="${(wanted.current ?? -2) + 2}"] a`)
    if (!link) return
    wanted.current = null
    link.focus({ preventScroll: true })
  }
  useEffect(focusWanted)
  const move = (by: number) => {
    const next = Math.max(0, Math.min(rowCount - 1, now() + by))
    last.current = wanted.current = next
    const top = (body.current?.getBoundingClientRect().top ?? 0) + next * height
    if (top < 120) window.scrollBy({ top: top - 120 })
    else if (top > window.innerHeight - 100) window.scrollBy({ top: top - window.innerHeight + 100 })
    focusWanted()
  }
  useKeys({ j: () => move(1), k: () => move(-1), x: () => now() >= 0 && toggle(now()) })
}
