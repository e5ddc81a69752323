// Which columns of a file are read, where the columns have names of their own.
import { UsageError } from '../usage-error.ts'
import type { Client } from './client.ts'
import type { Answer } from './operations.ts'

export const columnOptions = {
  'output-column': { value: 'NAME', says: 'the column of the outputs in the file' },
  'input-column': {
    value: 'NAME',
    says: 'the column of the inputs; without it the whole text of the outputs is learned',
  },
} as const

type Named = Partial<Record<keyof typeof columnOptions, string | undefined>>

/** @returns null when no column is named. @throws UsageError */
export function columnsIn({ 'input-column': input, 'output-column': output }: Named) {
  if (output !== undefined) return { input: input ?? null, output }
  if (input !== undefined) throw new UsageError('Name the --output-column beside the --input-column.')
  return null
}

export const setColumns = (client: Client, id: string, body: { input: string | null; output: string | null }) =>
  client.put('/v1/data/:dataset_id/columns', { params: { dataset_id: id }, body })

type Columns = Answer<'put', '/v1/data/:dataset_id/columns'>['read_columns']

export const describeColumns = (columns: Columns) =>
  columns === null
    ? 'by the names of the fields'
    : `${columns.input === null ? '' : `${JSON.stringify(columns.input)} as input, `}${JSON.stringify(columns.output)} as output`
