// A training job as the command line shows and follows it.
import { exitCodes } from '../command-error.ts'
import type { Client } from './client.ts'
import type { Answer } from './operations.ts'
import { createProgressLine, type TrainingStep } from './progress-line.ts'

const path = '/v1/train/jobs/:job_id'
export type Job = Answer<'get', typeof path>

export const readJob = (client: Client, jobId: string) => client.get(path, { params: { job_id: jobId } })

/** Resolves with the job once it has ended, however it did. */
export async function followJob(client: Client, jobId: string, { quiet = false } = {}): Promise<Job> {
  const line = createProgressLine()
  const before = await readJob(client, jobId)
  let [state, steps] = [stateOf(before), historyOf(before).slice(-1)]
  if (!quiet) line.show(state, steps)
  for await (const { event, data } of client.follow(jobId, { from: 'now' })) {
    if (event === 'status') state = stateOf(JSON.parse(data) as State)
    if (event === 'metric') steps = [JSON.parse(data) as TrainingStep]
    if (!quiet) line.show(state, steps)
  }
  line.end()
  return readJob(client, jobId)
}

type State = Pick<Job, 'status' | 'status_reason' | 'status_message'>

/** Only the fetching of a model is told in sentences: it takes minutes in which nothing else happens. */
const stateOf = ({ status, status_reason: reason, status_message: message }: State) => ({
  status,
  wait: reason === 'loading_model' ? message : null,
})

/** The exit code of a command that waited for the job's end. */
export const exitCodeOf = ({ status }: Job) => (status === 'COMPLETED' ? exitCodes.done : exitCodes.failed)

export function describeJob(job: Job): string {
  const last = historyOf(job).at(-1)
  const facts = [
    ['job', job.job_id],
    ['name', job.display_name],
    ['status', job.status + (job.status_reason === null ? '' : ` (${job.status_reason})`)],
    ['message', job.status_message],
    ['accepted', `${job.start_time} UTC`],
    ['data set', job.dataset.display_name],
    ['progress', last && `step ${last.step}, loss ${last.loss.toFixed(4)}, ${Math.round(last.remaining_time)} s left`],
    ['resumed', job.resume_count || null],
    ['model', job.model_name],
    ...(job.integrations ?? []).map(({ type, tracking_uri }) => ['tracker', `${type} at ${tracking_uri}`] as const),
  ] as const
  return facts
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => `${name.padEnd(9)} ${value}`)
    .join('\n')
}

const historyOf = ({ history }: Job) => JSON.parse(history) as TrainingStep[]
