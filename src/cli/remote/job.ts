// A training job as the command line shows and follows it.
import { moneyText } from '../../domain/money-text.ts'
import { exitCodes } from '../command-error.ts'
import type { Client } from './client.ts'
import type { Answer } from './operations.ts'
import { createProgressLine, type ShownState, type TrainingStep } from './progress-line.ts'

const path = '/v1/train/jobs/:job_id'
export type Job = Answer<'get', typeof path>

export const readJob = (client: Client, jobId: string) => client.get(path, { params: { job_id: jobId } })

/** Resolves with the job once it has ended, however it did. */
export async function followJob(client: Client, jobId: string, { quiet = false } = {}): Promise<Job> {
  const line = createProgressLine()
  const before = await readJob(client, jobId)
  let [state, steps] = [stateOf(before), historyOf(before).slice(-1)]
  const show = () => (quiet ? undefined : line.show(state, steps))
  const place = followPlace(client, jobId, (ahead) => {
    if (state.status !== 'QUEUED') return
    state = { ...state, ahead }
    show()
  })
  show()
  if (!quiet) place.look(before.status)
  try {
    for await (const { event, data } of client.follow(jobId, { from: 'now' })) {
      if (event === 'status') state = stateOf(JSON.parse(data) as State)
      if (event === 'metric') steps = [JSON.parse(data) as TrainingStep]
      if (!quiet && event === 'status') place.look(state.status)
      show()
    }
  } finally {
    place.end()
  }
  line.end()
  return readJob(client, jobId)
}

type State = Pick<Job, 'status' | 'status_reason' | 'status_message'>

/** `ahead`: how many jobs get a slot first, while the job waits for a slot. */
const stateOf = ({ status, status_message: message }: State): ShownState => ({
  status,
  wait: ended.includes(status) ? null : message,
  ahead: null,
})

/** The description of the job has their messages. */
const ended: readonly string[] = ['COMPLETED', 'PARTIALLY COMPLETED', 'CANCELLED', 'FAILED']
const placeEveryMs = 3000

/** Asks for the place of a queued job again and again: a job's stream does not tell that another job has begun. */
function followPlace(client: Client, jobId: string, tell: (ahead: number | null) => void) {
  let timer: NodeJS.Timeout | undefined
  const end = () => clearInterval(timer)
  const ask = () =>
    readJob(client, jobId).then(
      ({ queue }) => tell(queue?.ahead ?? null),
      () => undefined,
    )
  return {
    end,
    look(status: string) {
      end()
      if (status !== 'QUEUED') return
      void ask()
      timer = setInterval(() => void ask(), placeEveryMs)
    },
  }
}

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
    // Services of earlier releases do not say it.
    ['sent by', job.sent_by?.name ?? job.sent_by?.key_id],
    ['data set', job.datasets?.map(dataSetText).join(', ') ?? job.dataset.display_name],
    ['method', job.method?.type],
    ['left out', job.skipped_rows ? `${job.skipped_rows} bad ${job.skipped_rows === 1 ? 'row' : 'rows'}` : null],
    ['progress', last && `step ${last.step}, loss ${last.loss.toFixed(4)}, ${Math.round(last.remaining_time)} s left`],
    ['cost', job.cost && moneyText(job.cost.micros, job.cost.currency)],
    ['resumed', job.resume_count || null],
    ['model', job.model_name],
    ...(job.integrations ?? []).map(({ type, tracking_uri }) => ['tracker', `${type} at ${tracking_uri}`] as const),
  ] as const
  return factLines(facts)
}

const dataSetText = ({ dataset_id: id, weight }: NonNullable<Job['datasets']>[number]) => `${id} (weight ${weight})`

type Fact = readonly [name: string, value: string | number | null | undefined]

/** A fact a line. Leaves out those without a value. */
export const factLines = (facts: readonly Fact[]): string =>
  facts
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => `${name.padEnd(9)} ${value}`)
    .join('\n')

const historyOf = ({ history }: Job) => JSON.parse(history) as TrainingStep[]
