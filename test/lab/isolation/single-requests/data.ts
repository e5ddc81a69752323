// Data sets, stored rows and the jobs that read them.
import { randomUUID } from 'node:crypto'
import type { Answer } from '../accounts.ts'
import { statusOf } from '../probes.ts'
import type { Asker, Extreme } from './extreme.ts'
import { settled } from './settle.ts'
import { emoji, list, manyNames, megabyte, metadata, nested, ordinaryBody, record, words } from './texts.ts'

const row = (at: number) => ({ input: words(60, at), output: words(20, at) })
const wideRow = record(5000, () => 'value')
const conversation = (turns: number) => ({
  messages: list(turns * 2, (at) => ({ role: at % 2 ? 'assistant' : 'user', content: words(40, at) })),
})
const widest = {
  'a row of 15 MB': [{ input: words(15 * megabyte), output: 'b' }],
  'a row of 15 MB of emoji': [{ input: emoji(15 * megabyte), output: 'b' }],
  '100 rows of 600 KB': list(100, (at) => ({ input: words(600_000, at), output: 'b' })),
  '100 rows of 5,000 fields': list(100, () => ({ input: 'a', output: 'b', ...wideRow })),
  '400,000 small rows': list(400_000, row),
  '1,000 rows nested 30 deep': list(1000, () => ({ input: 'a', output: nested(30) })),
  'a conversation of 2,000 turns': list(4, () => conversation(2000)),
}

/** @param settle waits until the job's rows are checked, then cancels the job */
const rowsIn = (more: (asker: Asker) => object, settle: Extreme['settle']): Extreme[] =>
  Object.entries(widest).map(([what, data]) => ({
    what,
    sent: (_, asker) => ({ headers: { 'idempotency-key': randomUUID() }, body: { data, ...more(asker) } }),
    ...(settle && { settle }),
  }))

async function checkedJob(answer: Answer, asker: Asker) {
  if (answer.status !== 200) return
  const path = `/v1/train/jobs/${(answer.body as { job_id: string }).job_id}`
  await settled(asker, path, (job) => statusOf(job) !== 'CREATED')
  await asker.ask('POST', `${path}/cancel`)
  await settled(asker, path, (job) => ['CANCELLED', 'FAILED'].includes(statusOf(job) ?? ''))
}

export const data: Record<string, Extreme[]> = {
  data: [
    { what: 'the longest id', sent: () => ({ body: { dataset_id: 'd'.repeat(128), other: words(ordinaryBody) } }) },
  ],
  local_data: rowsIn(() => ({}), undefined),
  existing_data: [{ what: 'a megabyte', sent: () => ({ body: { dataset_id: 'wide', other: words(ordinaryBody) } }) }],
  num_datapoints: [
    {
      what: 'a megabyte',
      sent: () => ({ body: { dataset_id: 'wide', num_datapoints: 1, other: words(ordinaryBody) } }),
    },
  ],
  get_dataset: [
    { what: 'the report of 400,000 rows', sent: ({ manyRows: id }) => ({ params: { dataset_id: id } }) },
    { what: 'the report of the widest rows', sent: ({ wideRows: id }) => ({ params: { dataset_id: id } }) },
  ],
  list_datasets: [{ what: '1,000 data sets', sent: () => ({ query: 'limit=1000' }) }],
  list_dataset_versions: [
    { what: '1,000 versions', sent: ({ versions: id }) => ({ params: { dataset_id: id }, query: 'limit=1000' }) },
  ],
  preview_dataset_rows: [
    {
      what: '100 rows of 600 KB',
      sent: ({ wideRows: id }) => ({ params: { dataset_id: id }, query: 'limit=100' }),
    },
    {
      what: 'the last of 400,000 rows',
      sent: ({ manyRows: id }) => ({ params: { dataset_id: id }, query: 'limit=100&offset=399900' }),
    },
    {
      what: 'conversations',
      sent: ({ conversations: id }) => ({ params: { dataset_id: id }, query: 'limit=100' }),
    },
  ],
  set_dataset_columns: [
    {
      what: '100 rows of 600 KB',
      sent: ({ wideRows: id }) => ({ params: { dataset_id: id }, body: { input: 'input', output: 'output' } }),
    },
  ],
  set_dataset_columns: [
    {
      what: '100 rows of 600 KB',
      sent: ({ wideRows: id }) => ({ params: { dataset_id: id }, body: { input: 'input', output: 'output' } }),
    },
  ],
  map_dataset_columns: [
    {
      what: '100 rows of 600 KB',
      sent: ({ wideRows: id }) => ({ params: { dataset_id: id }, body: { input: 'input', output: 'output' } }),
    },
    {
      what: '400,000 rows',
      sent: ({ manyRows: id }) => ({ params: { dataset_id: id }, body: { input: 'input', output: 'output' } }),
    },
  ],
  store_data: [
    {
      what: '20,000 items of 20 fields',
      sent: () => ({
        body: { id: randomUUID(), data: list(20_000, (at) => ({ note: record(20, (field) => `${at} ${field}`) })) },
      }),
    },
    {
      what: 'an item of 7 MB',
      sent: () => ({ body: { id: randomUUID(), data: { note: { text: words(7 * megabyte) } } } }),
    },
    {
      what: 'an item of 100,000 fields',
      sent: () => ({ body: { id: randomUUID(), data: { note: manyNames(100_000) } } }),
    },
    {
      what: '500 items of 100 KB',
      sent: () => ({ body: { id: randomUUID(), data: list(500, (at) => ({ note: { text: words(100_000, at) } })) } }),
    },
  ],
  delete_data: [{ what: '10,000 rows', sent: ({ spareRows: id }) => ({ body: { id } }) }],
  train: [
    ...rowsIn(({ baseModel }) => ({ model_name: baseModel, metadata }), checkedJob),
    {
      what: 'rows to evaluate on, and ten graders',
      sent: (_, { baseModel }) => ({
        body: {
          model_name: baseModel,
          data: list(10_000, row),
          eval_data: list(100, row),
          peft_args: record(9900, () => 1),
          evaluation: { graders: list(10, (at) => ({ type: 'regex', name: `${at}`, pattern: `a{${at},99}` })) },
        },
      }),
      settle: checkedJob,
    },
    {
      what: 'a dry run on 400,000 rows',
      sent: ({ manyRows }, { baseModel }) => ({
        query: 'dry_run=true',
        body: { model_name: baseModel, dataset_id: manyRows },
      }),
    },
    {
      what: '10,000 stored rows',
      sent: ({ storedRows: id }, { baseModel }) => ({ body: { model_name: baseModel, id } }),
      settle: checkedJob,
    },
  ],
}
