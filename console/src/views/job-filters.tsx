// Which jobs the list shows. All of it is in the address of the page.
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { keysQuery } from '../api/account.ts'
import type { JobBrief } from '../api/job.ts'
import { useMay } from '../api/session.ts'
import { short } from '../domain/format.ts'
import { groupNames, isFiltered, noFilter, partsOfBase, type JobFilter } from '../domain/job-list.ts'
import { Choice, Labelled } from '../ui/labelled.tsx'
import { Tabs } from '../ui/tabs.tsx'

type Props = {
  filter: JobFilter
  change: (changes: Partial<JobFilter>) => void
  jobs: readonly JobBrief[]
  found: string
}

const settleMs = 250

export function JobFilters({ filter, change, jobs, found }: Props) {
  return (
    <form role="search" className="job-filters" onSubmit={(event) => event.preventDefault()}>
      <Tabs label="Show" value={filter.group} values={groupNames} onChange={(group) => change({ group })} />
      <div className="filters">
        <Search text={filter.text} change={(text) => change({ text })} />
        <Choice
          label="Base"
          value={filter.base}
          values={valuesOf(jobs, ({ base_model: base }) => base, filter.base)}
          textOf={(base) => partsOfBase(base).name || 'Any'}
          onChange={(base) => change({ base })}
        />
        <DataChoice filter={filter} change={change} jobs={jobs} />
        <KeyChoice by={filter.by} change={(by) => change({ by })} />
        <Labelled name="From">
          <input type="date" value={filter.from} onChange={(event) => change({ from: event.target.value })} />
        </Labelled>
        <Labelled name="Until">
          <input type="date" value={filter.to} onChange={(event) => change({ to: event.target.value })} />
        </Labelled>
        {isFiltered(filter) && (
          <button type="button" className="plain" onClick={() => change(noFilter)}>
            Clear the filter
          </button>
        )}
      </div>
      <p className="quiet found" role="status">
        {found}
      </p>
    </form>
  )
}

/** The service searches, so it is asked once the user has paused. */
function Search({ text, change }: { text: string; change: (text: string) => void }) {
  const [typed, setTyped] = useState(text)
  useEffect(() => setTyped(text), [text])
  useEffect(() => {
    if (typed === text) return
    const timer = setTimeout(() => change(typed), settleMs)
    return () => clearTimeout(timer)
  }, [typed])
  return (
    <Labelled name="Search">
      <input
        type="search"
        value={typed}
        placeholder="name, data set, base, number"
        onChange={(event) => setTyped(event.target.value)}
        onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
      />
    </Labelled>
  )
}

function DataChoice({ filter, change, jobs }: Pick<Props, 'filter' | 'change' | 'jobs'>) {
  const names = new Map(jobs.map(({ dataset_id: id, dataset_file: file }) => [id, file ?? short(id)]))
  return (
    <Choice
      label="Data set"
      value={filter.data}
      values={valuesOf(jobs, ({ dataset_id: id }) => id, filter.data)}
      textOf={(id) => (id === '' ? 'Any' : (names.get(id) ?? short(id)))}
      onChange={(data) => change({ data })}
    />
  )
}

/** Nothing for a session that may not list the keys. */
function KeyChoice({ by, change }: { by: string; change: (by: string) => void }) {
  const mayList = useMay('admin')
  const { data: keys = [] } = useQuery({ ...keysQuery, enabled: mayList })
  if (keys.length < 2 && by === '') return null
  return (
    <Choice
      label="Key"
      value={by}
      values={['', ...new Set([...keys.map(({ id }) => id), ...(by === '' ? [] : [by])])]}
      textOf={(id) => (id === '' ? 'Any' : (keys.find((key) => key.id === id)?.name ?? id))}
      onChange={change}
    />
  )
}

/** The values of the jobs that were read, and the chosen one. */
const valuesOf = (jobs: readonly JobBrief[], value: (job: JobBrief) => string, chosen: string) => [
  ...new Set(['', ...(chosen === '' ? [] : [chosen]), ...jobs.map(value)]),
]
