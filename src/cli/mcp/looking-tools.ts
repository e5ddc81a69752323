// Tools that only read.
import type { Client } from '../remote/client.ts'
import { jobFacts } from './job-facts.ts'
import { z } from './sdk.ts'
import { defineTool } from './tool.ts'

const limit = z.int().min(1).max(100).default(20).describe('The most entries; of evaluations at most 20 are listed')

const list = defineTool({
  name: 'list',
  title: 'List models, jobs, data sets or evaluations',
  says: 'Lists what the account has, newest first. Models: the base models come first.',
  danger: 'reads',
  takes: {
    what: z.enum(['models', 'jobs', 'data_sets', 'evaluations']),
    status: z.string().optional().describe('Jobs only: such as COMPLETED, FAILED or QUEUED'),
    limit,
  },
  run: ({ client, input }) => listOf(client, input),
})

type ListInput = { what: 'models' | 'jobs' | 'data_sets' | 'evaluations'; status?: string | undefined; limit: number }

async function listOf(client: Client, { what, status, limit: most }: ListInput): Promise<unknown> {
  const query = { limit: String(most) }
  switch (what) {
    case 'models':
      return (await client.get('/v1/models', { query })).data.map(
        ({ object: _object, created: _created, owned_by: _owner, supported_parameters: _parameters, ...model }) =>
          model,
      )
    case 'jobs':
      return (await client.get('/v1/train/jobs', { query: { ...query, status } })).map(jobFacts)
    case 'data_sets':
      return (await client.get('/v1/data', { query })).datasets
    case 'evaluations':
      return (await client.get('/v1/evaluations', { query: { limit: String(Math.min(most, 20)) } })).evaluations
  }
}

const describe = defineTool({
  name: 'describe',
  title: 'Describe a model, job, data set or evaluation',
  says: 'A model: its versions, aliases, scores and limits. A job: its state, why it waits or failed, its arguments and newest losses. An evaluation: scores with intervals, and the comparison with the first model.',
  danger: 'reads',
  takes: {
    what: z.enum(['model', 'job', 'data_set', 'evaluation']),
    name: z.string().min(1).describe('The name of the model or data set, or the id of the job or evaluation'),
  },
  run: ({ client, input: { what, name } }) => described(client, what, name),
})

async function described(client: Client, what: 'model' | 'job' | 'data_set' | 'evaluation', name: string) {
  switch (what) {
    case 'model':
      return modelOf(client, name)
    case 'job':
      return jobFacts(await client.get('/v1/train/jobs/:job_id', { params: { job_id: name } }))
    case 'data_set':
      return client.get('/v1/data/:dataset_id', { params: { dataset_id: name } })
    case 'evaluation':
      return client.get('/v1/evaluations/:id', { params: { id: name } })
  }
}

/** The base models come with the first page of the list, and have no versions. */
async function modelOf(client: Client, name: string): Promise<unknown> {
  const { data } = await client.get('/v1/models', { query: { limit: '1' } })
  const base = data.find((each) => each.owned_by === 'catalogue' && [each.id, ...each.aliases].includes(name))
  return base ?? client.get('/v1/models/:name', { params: { name }, query: { limit: '10' } })
}

const checkData = defineTool({
  name: 'check_data',
  title: 'Check a data set',
  says: 'The report of a data set (rows, bad rows with line and reason, repeated rows, lengths in tokens) and its first rows as the trainer reads them.',
  danger: 'reads',
  takes: {
    dataset_id: z.string().min(1),
    rows: z.int().min(0).max(20).default(3).describe('How many rows to show'),
  },
  async run({ client, input: { dataset_id: id, rows: count } }) {
    const params = { dataset_id: id }
    const {
      dataset_location: _location,
      input_length,
      output_length,
      ...report
    } = await client.get('/v1/data/:dataset_id', { params })
    if (count === 0 || report.state === 'empty') return { report }
    const page = await client.get('/v1/data/:dataset_id/rows', { params, query: { limit: String(count) } })
    const rows = page.rows.map(({ chat_template: _template, special_tokens: _tokens, ...row }) => row)
    return {
      report: { ...report, characters: { input: input_length, output: output_length } },
      columns: page.columns,
      rows,
    }
  },
})

const usage = defineTool({
  name: 'usage',
  title: 'Usage and limits',
  says: 'Prompts, tokens, training seconds and GPU seconds of the account by day, key or model, and what is left of its limits.',
  danger: 'reads',
  takes: {
    from: z.string().optional().describe('The first day (UTC), such as 2027-01-01; default 29 days before the last'),
    to: z.string().optional().describe('The last day, included; default today'),
    by: z
      .array(z.enum(['day', 'key', 'model']))
      .min(1)
      .default(['model']),
  },
  async run({ client, input: { from, to, by } }) {
    const used = await client.get('/v1/usage', { query: { from, to, group_by: by.join(','), limit: '100' } })
    return { ...used, ...(await client.get('/v1/limits')) }
  },
})

export const lookingTools = [list, describe, checkData, usage]
