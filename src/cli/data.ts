import type { Command } from './command.ts'
import type { Answer } from './remote/operations.ts'
import { oneLine, pageOptions, shortTime, tellNext } from './remote/page.ts'
import { serviceVerb } from './remote/remote-verb.ts'
import { table } from './remote/table.ts'

export const command: Command = {
  list: serviceVerb({
    options: pageOptions,
    async run({ client, values: { limit, after }, print }) {
      const page = await client.get('/v1/data', { query: { limit, after } })
      print(page, () => datasetRows(page.datasets))
      tellNext(page.next)
    },
  }),
  report: serviceVerb({
    takes: { ID: '' },
    async run({ client, args: [id = ''], print }) {
      const report = await client.get('/v1/data/:dataset_id', { params: { dataset_id: id } })
      print(report, () => describe(report))
    },
  }),
  versions: serviceVerb({
    takes: { ID: '' },
    options: pageOptions,
    async run({ client, args: [id = ''], values: { limit, after }, print }) {
      const request = { params: { dataset_id: id }, query: { limit, after } }
      const page = await client.get('/v1/data/:dataset_id/versions', request)
      print(page, () => versionRows(page.versions))
      tellNext(page.next)
    },
  }),
  rows: serviceVerb({
    takes: { ID: '' },
    options: pageOptions,
    async run({ client, args: [id = ''], values: { limit, after }, print }) {
      const request = { params: { dataset_id: id }, query: { limit, offset: after } }
      const page = await client.get('/v1/data/:dataset_id/rows', request)
      print(page, () => textRows(page.rows))
      tellNext(page.next)
    },
  }),
  map: serviceVerb({
    takes: { ID: '' },
    options: {
      'output-column': { value: 'NAME', says: 'the column of the outputs in the file', required: true },
      'input-column': {
        value: 'NAME',
        says: 'the column of the inputs; without it the whole text of the outputs is learned',
      },
      as: { value: 'ID', says: 'the id of the data set that is made (default: a new one)' },
    },
    async run({ client, args: [id = ''], values, print }) {
      const body = { input: values['input-column'], output: values['output-column'], dataset_id: values.as }
      const made = await client.post('/v1/data/:dataset_id/columns', { params: { dataset_id: id }, body })
      print(made, () => `Mapped ${made.rows} rows into the data set ${made.dataset_id}.`)
    },
  }),
  delete: serviceVerb({
    takes: { ID: '' },
    async run({ client, args: [id = ''], print }) {
      const deleted = await client.delete('/v1/data/:dataset_id', { params: { dataset_id: id } })
      print(deleted, () => `Deleted ${id}: ${deleted.deleted} versions.`)
    },
  }),
}

type Report = Answer<'get', '/v1/data/:dataset_id'>
type Dataset = Answer<'get', '/v1/data'>['datasets'][number]
type Version = Answer<'get', '/v1/data/:dataset_id/versions'>['versions'][number]
type Row = Answer<'get', '/v1/data/:dataset_id/rows'>['rows'][number]

function describe({ state, rows, bad_rows: bad, duplicates, errors, unread_fields: unread }: Report): string {
  const lines = errors.map(({ line, field, reason }) => `line ${line}: ${field}: ${reason}`)
  const left = unread.map(({ field, rows, line }) => `not read: ${field}, in ${rows} rows, first in line ${line}`)
  return [`${state}: ${rows} rows, ${bad} bad, ${duplicates} repeated`, ...lines, ...left].join('\n')
}

const datasetRows = (list: Dataset[]) =>
  table(
    ['DATA SET', 'STATE', 'ROWS', 'BYTES', 'CREATED (UTC)'],
    list.map((each) => [
      each.dataset_id,
      each.state,
      String(each.rows ?? ''),
      String(each.bytes ?? ''),
      shortTime(each.created_at),
    ]),
  )

const versionRows = (list: Version[]) =>
  table(
    ['VERSION', 'STATE', 'ROWS', 'BYTES', 'JOBS', 'CREATED (UTC)'],
    list.map((each) => [
      String(each.version),
      each.state,
      String(each.rows ?? ''),
      String(each.bytes ?? ''),
      each.job_ids.join(', '),
      shortTime(each.created_at),
    ]),
  )

const textRows = (list: Row[]) =>
  table(
    ['ROW', 'INPUT', 'OUTPUT'],
    list.map(({ index, input, output, error }) => [
      String(index),
      error ? `${error.field}: ${error.reason}` : oneLine(input, 60),
      oneLine(output, 60),
    ]),
  )
