import type { Command } from './command.ts'
import { columnOptions, columnsIn, describeColumns, setColumns } from './remote/columns.ts'
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
  columns: serviceVerb({
    says: 'Shows the columns that are read, or a proposal; with --output-column it says which are read from now on.',
    takes: { ID: '' },
    options: { ...columnOptions, 'by-name': { says: 'read the fields by their names again' } },
    async run({ client, args: [id = ''], values, print }) {
      const columns = columnsIn(values)
      if (columns || values['by-name']) {
        const set = await setColumns(client, id, columns ?? { input: null, output: null })
        return print(set, () => `${id} is read ${describeColumns(set.read_columns)}.`)
      }
      const page = await client.get('/v1/data/:dataset_id/rows', { params: { dataset_id: id }, query: { limit: '3' } })
      print(page, () => proposalText(id, page))
    },
  }),
  map: serviceVerb({
    takes: { ID: '' },
    options: {
      ...columnOptions,
      'output-column': { ...columnOptions['output-column'], required: true },
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
type Page = Answer<'get', '/v1/data/:dataset_id/rows'>
type Row = Page['rows'][number]

function proposalText(id: string, { columns, read_columns: read, proposed_columns: proposed }: Page): string {
  const has = `columns: ${columns.map((name) => JSON.stringify(name)).join(', ')}`
  if (!proposed) return `${has}\nread: ${describeColumns(read)}`
  const input = proposed.input === null ? '' : ` --input-column ${quotedWord(proposed.input)}`
  const apply = `anneal data columns ${id} --output-column ${quotedWord(proposed.output)}${input}`
  const shown = table(
    ['LINE', 'INPUT', 'OUTPUT'],
    proposed.rows.map(({ line, input, output }) => [String(line), oneLine(input, 60), oneLine(output, 60)]),
  )
  return [has, `proposed: ${describeColumns(proposed)}`, shown, `To read them so: ${apply}`].join('\n')
}

/** For a shell. */
const quotedWord = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`

function describe({
  state,
  method,
  rows,
  bad_rows: bad,
  duplicates,
  error_groups: groups,
  unread_fields: unread,
}: Report): string {
  const lines = groups.map(({ field, reason, rows, lines: [first] }) =>
    rows === 1 ? `line ${first}: ${field}: ${reason}` : `${rows} rows, first in line ${first}: ${field}: ${reason}`,
  )
  const left = unread.map(({ field, rows, line }) => `not read: ${field}, in ${rows} rows, first in line ${line}`)
  const of = method === 'supervised' ? '' : ` of the method ${method}`
  return [`${state}: ${rows} rows${of}, ${bad} bad, ${duplicates} repeated`, ...lines, ...left].join('\n')
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
    list.map(({ index, input, output, answers, error }) => [
      String(index),
      error ? `${error.field}: ${error.reason}` : oneLine(input, 60),
      oneLine(answers ? answers.map(({ text, good }) => `${good ? '+' : '-'} ${text}`).join(' ') : output, 60),
    ]),
  )
