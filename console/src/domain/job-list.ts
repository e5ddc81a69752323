// The states of jobs, and the filter of their list. The filter lives in the address of the page.
import type { components } from '../api/types.ts'

export type Status = components['schemas']['TrainingJob']['status']

/** In the order of a job's life. A state that the service gets must be added here. */
const isFinal: Record<Status, boolean> = {
  CREATED: false,
  QUEUED: false,
  'LOADING DATA': false,
  'TRAINING MODEL': false,
  'SAVING MODEL': false,
  'EVALUATING MODEL': false,
  COMPLETED: true,
  'PARTIALLY COMPLETED': true,
  FAILED: true,
  CANCELLED: true,
}
export const statuses = Object.keys(isFinal) as Status[]
export const isOpen = (status: string) => !isFinal[status as Status]

/** The states of each group, as the service takes them. */
const groups = {
  all: undefined,
  open: 'open',
  done: 'COMPLETED,PARTIALLY COMPLETED',
  failed: 'FAILED',
  cancelled: 'CANCELLED',
} as const
export type Group = keyof typeof groups
export const groupNames = Object.keys(groups) as Group[]

export type JobFilter = {
  group: Group
  text: string
  base: string
  data: string
  /** The key that submitted the job. */
  by: string
  from: string
  to: string
}

/** The same as a query of the list. */
export type JobsQuery = {
  status?: string
  base_model?: string
  dataset_id?: string
  key_id?: string
  from?: string
  to?: string
  q?: string
}

/** The chosen rows: some by their ids, or all jobs of the filter. */
export type Selection = ReadonlySet<number> | 'all'

export function readFilter(search: string): JobFilter {
  const query = new URLSearchParams(search)
  const text = (name: string) => query.get(name) ?? ''
  const day = (name: string) => (/^\d{4}-\d{2}-\d{2}$/.test(text(name)) ? text(name) : '')
  return {
    group: groupNames.find((name) => name === query.get('show')) ?? 'all',
    text: text('q'),
    base: text('base'),
    data: text('data'),
    by: text('by'),
    from: day('from'),
    to: day('to'),
  }
}

export function readSelection(search: string): Selection {
  const text = new URLSearchParams(search).get('selected') ?? ''
  return text === 'all' ? text : new Set(text.split(',').map(Number).filter(Boolean))
}

/** The values of the address. A usual value is left out. */
export const writeFilter = ({ group, text, ...others }: JobFilter) => ({
  show: group === 'all' ? '' : group,
  q: text,
  ...others,
})

export const writeSelection = (selected: Selection) => ({
  selected: selected === 'all' ? selected : [...selected].join(),
})

export const noFilter: JobFilter = readFilter('')

export const isFiltered = (filter: JobFilter) => Object.values(writeFilter(filter)).some((value) => value !== '')

export function queryOf({ group, text, base, data, by, from, to }: JobFilter): JobsQuery {
  const query = { status: groups[group], base_model: base, dataset_id: data, key_id: by, from, to, q: text.trim() }
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value))
}

type Listed = { job_id: number }

type Named = Listed & { display_name: string }

/** The name that a person knows the job by, with its number. A job without another name is called "job 7". */
export const numberedName = ({ job_id: id, display_name: name }: Named) =>
  name === `job ${id}` ? name : `${name} #${id}`

/** The newest jobs of a filter, put into what was read before. @returns null when jobs between the two are unknown */
export function mergeHead<T extends Listed>(known: readonly T[], head: { jobs: T[]; next: string | null }): T[] | null {
  const last = head.jobs.at(-1)
  if (head.next === null) return head.jobs
  if (last === undefined) return [...known]
  const older = known.filter(({ job_id: id }) => id < last.job_id)
  // Some job of the head was known before, or nothing was.
  return older.length < known.length || known.length === 0 ? [...head.jobs, ...older] : null
}

/** Newer facts about some jobs of a list. */
export function withNewer<T extends Listed>(known: T[], newer: readonly T[]): T[] {
  const byId = new Map(newer.map((job) => [job.job_id, job]))
  return known.some(({ job_id: id }) => byId.has(id)) ? known.map((job) => byId.get(job.job_id) ?? job) : known
}

/** The owner and the name of a base such as `org/model`. */
export function partsOfBase(base: string): { owner: string; name: string } {
  const at = base.lastIndexOf('/')
  return { owner: base.slice(0, at + 1), name: base.slice(at + 1) }
}

type Told = {
  status: string
  status_reason: string | null
  status_message: string | null
  queue: { place: number | null; message: string | null } | null
}

/** Why the job waits or ended, in a sentence; null while all goes its way. */
export function sentenceOf({ status, status_reason: reason, status_message: message, queue }: Told): string | null {
  if (isOpen(status) && reason === 'cancelling') return 'Being cancelled: its processes end first.'
  if (queue?.place != null) return queue.place === 1 ? 'Next in the queue' : `${ordinal(queue.place)} in the queue`
  return queue?.message ?? message
}

export function ordinal(place: number): string {
  const [tens, ones] = [place % 100, place % 10]
  const ending = tens > 10 && tens < 14 ? 'th' : (['th', 'st', 'nd', 'rd'][ones] ?? 'th')
  return `${place.toLocaleString('en-US')}${ending}`
}
