import { UsageError } from './usage-error.ts'
import { oneLine, pageOptions, pageUsage, queryOf, shortTime, tellNext } from './remote/page.ts'
import { serviceCommand } from './remote/remote-command.ts'
import { table } from './remote/table.ts'

type Dataset = { dataset_id: string; state: string; rows: number | null; bytes: number | null; created_at: string }
type Version = Omit<Dataset, 'dataset_id'> & { version: number; job_ids: number[] }
type Row = {
  index: number
  input: string | null
  output: string | null
  error: { field: string; reason: string } | null
}
type Report = {
  state: string
  rows: number
  bad_rows: number
  duplicates: number
  unread_fields: { field: string; rows: number; line: number }[]
  errors: { line: number; field: string; reason: string }[]
}

export const data = serviceCommand({
  usage: `list [--limit N] [--after ID]
       anneal data report ID
       anneal data versions ID [--limit N] [--after VERSION]
       anneal data rows ID [--limit N] [--after INDEX]
       anneal data map ID --output-column NAME [--input-column NAME] [--as ID]
       anneal data delete ID

  --output-column NAME  the column of the outputs in the file
  --input-column NAME   the column of the inputs; without it the whole text of the outputs is learned
  --as ID               the id of the data set that is made (default: a new one)
${pageUsage}`,
  options: {
    ...pageOptions,
    'input-column': { type: 'string' },
    'output-column': { type: 'string' },
    as: { type: 'string' },
  },
  takes: { least: 1, most: 2 },
  async run({ client, positionals: [verb = '', id], values: { limit, after, ...mapping }, print }) {
    if (verb === 'list') {
      const page = await client.get<{ datasets: Dataset[]; next: string | null }>(
        `/v1/data${queryOf({ limit, after })}`,
      )
      print(page, () => datasetRows(page.datasets))
      tellNext(page.next)
      return 0
    }
    if (id === undefined) throw new UsageError('Name the data set.')
    const path = `/v1/data/${encodeURIComponent(id)}`
    switch (verb) {
      case 'report': {
        const report = await client.get<Report>(path)
        print(report, () => describe(report))
        return 0
      }
      case 'versions': {
        const page = await client.get<{ versions: Version[]; next: number | null }>(
          `${path}/versions${queryOf({ limit, after })}`,
        )
        print(page, () => versionRows(page.versions))
        tellNext(page.next)
        return 0
      }
      case 'rows': {
        const page = await client.get<{ rows: Row[]; next: number | null }>(
          `${path}/rows${queryOf({ limit, offset: after })}`,
        )
        print(page, () => textRows(page.rows))
        tellNext(page.next)
        return 0
      }
      case 'map': {
        const { 'input-column': input, 'output-column': output, as: newId } = mapping
        if (output === undefined) throw new UsageError('--output-column is required.')
        const body = { input, output, dataset_id: newId }
        const made = await client.post<{ dataset_id: string; rows: number }>(`${path}/columns`, body)
        print(made, () => `Mapped ${made.rows} rows into the data set ${made.dataset_id}.`)
        return 0
      }
      case 'delete': {
        const deleted = await client.delete<{ deleted: number }>(path)
        print(deleted, () => `Deleted ${id}: ${deleted.deleted} versions.`)
        return 0
      }
      default:
        throw new UsageError(`data takes list, report, versions, rows, map or delete, not "${verb}".`)
    }
  },
})

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
