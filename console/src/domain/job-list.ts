// Filters and order of the list of jobs. They live in the address of the page.
import type { components } from '../api/types.ts'

export type Status = components['schemas']['TrainingJobSummary']['status']

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
export const canResume = (status: string) => !isOpen(status) && status !== 'COMPLETED'

const groups = {
  all: () => true,
  open: isOpen,
  done: (status: string) => status === 'COMPLETED' || status === 'PARTIALLY COMPLETED',
  failed: (status: string) => status === 'FAILED',
  cancelled: (status: string) => status === 'CANCELLED',
} satisfies Record<string, (status: string) => boolean>
export type Group = keyof typeof groups
export const groupNames = Object.keys(groups) as Group[]

export const sorts = ['newest', 'oldest', 'status', 'name'] as const
export type Sort = (typeof sorts)[number]

export type JobFilter = { group: Group; text: string; sort: Sort; selected: ReadonlySet<number> }

type Listed = {
  job_id: number
  status: string
  model_name: string | null
  requested_name: string | null
  dataset_id: string
  base_model?: string
}

export function readFilter(search: string): JobFilter {
  const query = new URLSearchParams(search)
  return {
    group: groupNames.find((name) => name === query.get('show')) ?? 'all',
    text: query.get('q') ?? '',
    sort: sorts.find((name) => name === query.get('sort')) ?? 'newest',
    selected: new Set((query.get('selected') ?? '').split(',').map(Number).filter(Boolean)),
  }
}

/** The values of the address; what is usual has none. */
export const writeFilter = ({ group, text, sort, selected }: JobFilter) => ({
  show: group === 'all' ? '' : group,
  q: text,
  sort: sort === 'newest' ? '' : sort,
  selected: [...selected].join(),
})

/** The jobs come newest first. */
export function chosenJobs<T extends Listed>(
  jobs: readonly T[],
  { group, text, sort }: Omit<JobFilter, 'selected'>,
): T[] {
  const wanted = text.trim().toLowerCase()
  const found = jobs.filter((job) => groups[group](job.status) && (wanted === '' || textOf(job).includes(wanted)))
  if (sort === 'oldest') return found.toReversed()
  if (sort === 'status') return found.toSorted((a, b) => rankOf(a) - rankOf(b))
  if (sort === 'name') return found.toSorted((a, b) => nameOf(a).localeCompare(nameOf(b)))
  return found
}

const rankOf = ({ status }: Listed) => statuses.indexOf(status as Status)

const textOf = (job: Listed) =>
  [job.job_id, job.requested_name, job.model_name, job.dataset_id, job.base_model, job.status].join(' ').toLowerCase()

/** The name that a person knows the job by. */
export const nameOf = (job: Pick<Listed, 'requested_name' | 'dataset_id'>) => job.requested_name || job.dataset_id

/** Newer facts about some jobs, put into the whole list. */
export function mergeJobs<T extends Listed>(known: readonly T[], newer: readonly T[]): T[] {
  const byId = new Map(newer.map((job) => [job.job_id, job]))
  const merged = known.map((job) => byId.get(job.job_id) ?? job)
  const ids = new Set(known.map(({ job_id: id }) => id))
  return [...newer.filter(({ job_id: id }) => !ids.has(id)), ...merged].toSorted((a, b) => b.job_id - a.job_id)
}
