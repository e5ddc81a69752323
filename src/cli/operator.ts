import { moneyText } from '../domain/money-text.ts'
import type { Command } from './command.ts'
import { factLines } from './remote/job.ts'
import type { Answer } from './remote/operations.ts'
import { shortTime } from './remote/page.ts'
import { adminVerb } from './remote/remote-verb.ts'
import { table } from './remote/table.ts'
import { usageTable } from './remote/usage-table.ts'
import { UsageError } from './usage-error.ts'

const base = '/internal/v1/admin'

type Jobs = Answer<'get', `${typeof base}/jobs`>['jobs']
type Usage = Answer<'get', `${typeof base}/usage`>
type Maintenance = Answer<'get', `${typeof base}/maintenance`>['maintenance']

const account = { value: 'ID', says: 'only this account' }
const page = {
  limit: { value: 'N', says: 'how many, 1 to 1000', default: '100' },
  after: { value: 'CURSOR', says: 'continue after the page that ended with it' },
} as const

export const command: Command = {
  jobs: adminVerb({
    says: 'lists the jobs of all accounts, newest first',
    options: { status: { value: 'STATUS', says: 'only jobs of this status, such as QUEUED' }, account, ...page },
    async run({ client, values: { status, account: accountId, limit, after }, print }) {
      const answer = await client.get(`${base}/jobs`, { query: { status, account_id: accountId, limit, after } })
      print(answer, () => (answer.jobs.length === 0 ? 'No training jobs.' : jobRows(answer.jobs)))
    },
  }),
  job: adminVerb({
    says: 'prints one job of any account with its newest attempts and events',
    takes: { ID: '' },
    async run({ client, args: [id = ''], print }) {
      const job = await client.get(`${base}/jobs/:job_id`, { params: { job_id: id } })
      const events = job.newest_events.toReversed().map((event) => [shortTime(event.at), ...eventCells(event)])
      print(job, () => `${factLines(factsOf(job))}\n\n${table(['AT (UTC)', 'WHAT', 'MESSAGE', 'BY'], events)}`)
    },
  }),
  usage: adminVerb({
    says: 'prints the usage of all accounts; GET /internal/v1/admin/usage?format=csv answers it as CSV',
    options: {
      from: { value: 'DAY', says: 'the first day (UTC), such as 2027-01-01 (default: 29 days before the last)' },
      to: { value: 'DAY', says: 'the last day, included (default: today)' },
      by: { value: 'LIST', says: 'account, day and model, or some of them, with commas between (default: all)' },
      account,
      ...page,
    },
    async run({ client, values: { from, to, by, account: accountId, limit, after }, print }) {
      const query = { from, to, group_by: by, account_id: accountId, limit, after }
      const answer = await client.get(`${base}/usage`, { query })
      print(answer, () => usageRows(answer))
    },
  }),
  maintenance: adminVerb({
    says: 'on stops new work, off lets it go on; without either it tells the present state',
    takes: { '[on|off]': '' },
    options: { message: { value: 'TEXT', says: 'why, and until when; users read it as the reason of their job' } },
    async run({ client, args: [word], values: { message }, print }) {
      if (word !== undefined && word !== 'on' && word !== 'off')
        throw new UsageError(`maintenance takes on or off, not "${word}".`)
      const path = `${base}/maintenance` as const
      const { maintenance } =
        word === undefined ? await client.get(path) : await client.put(path, { body: { on: word === 'on', message } })
      print({ maintenance }, () => stateOf(maintenance))
    },
  }),
}

const stateOf = (maintenance: Maintenance) =>
  maintenance
    ? `New work has been stopped since ${maintenance.since} UTC. ${maintenance.message}`.trimEnd()
    : 'New work starts.'

const jobRows = (jobs: Jobs) =>
  table(
    ['JOB', 'NAME', 'ACCOUNT', 'STATUS', 'REASON', 'ACCEPTED (UTC)', 'SLOT SINCE (UTC)'],
    jobs.map((job) => [
      String(job.job_id),
      job.display_name,
      job.account_name,
      job.status,
      job.status_reason ?? '',
      shortTime(job.created_at),
      job.slot_since === null ? '' : shortTime(job.slot_since),
    ]),
  )

type JobRecord = Answer<'get', `${typeof base}/jobs/:job_id`>

const factsOf = (job: JobRecord) =>
  [
    ['job', job.job_id],
    ['name', job.display_name],
    ['account', `${job.account_name} (${job.account_id})`],
    ['status', job.status + (job.status_reason === null ? '' : ` (${job.status_reason})`)],
    ['message', job.status_message],
    ['ahead', job.queue?.ahead],
    ['accepted', `${shortTime(job.created_at)} UTC`],
    ['data set', job.dataset.display_name],
    ['progress', job.progress && `step ${job.progress.step} of ${job.progress.of ?? '?'}`],
    ['attempts', job.attempts.count],
    ['training', `${job.attempts.training_seconds.toFixed(0)} s`],
    ['cost', job.cost && moneyText(job.cost.micros, job.cost.currency)],
    ['workflow', job.links.temporal_ui],
  ] as const

type Event = Answer<'get', `${typeof base}/jobs/:job_id`>['newest_events'][number]

const eventCells = ({ kind, status, reason, message, actor }: Event) => [status ?? reason ?? kind, message ?? '', actor]

const usageRows = (page: Usage) =>
  usageTable(page, {
    DAY: ({ day }) => day,
    ACCOUNT: (line) => line.account_name,
    MODEL: (line) => line.display_name ?? line.model_name,
  })
