// Which columns of a file hold the inputs and the outputs. The guess of the service is filled in, with the rows that it gives.
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api/client.ts'
import { columnsQuery, refreshRows, type Columns, type Report } from '../api/data.ts'
import { useMay } from '../api/session.ts'
import { Choice } from '../ui/labelled.tsx'
import { Failure } from '../ui/states.tsx'
import { RowSample } from './row-sample.tsx'

const none: Columns = { input: null, output: '' }

/** Lets the columns be chosen: first where no row can be read, and folded below the names of the columns that are read. */
export function ColumnsOf({ report: { dataset_id: id, read_columns: read, rows, bad_rows: bad } }: { report: Report }) {
  // All rows are bad when their fields have unknown names.
  if (rows > 0 && bad === rows) return <ReadColumns datasetId={id} />
  if (!read) return null
  return (
    <details>
      <summary>
        {read.input ? `Inputs from the column “${read.input}”, outputs` : 'Whole texts'} from “{read.output}”
      </summary>
      <ReadColumns datasetId={id} />
    </details>
  )
}

function ReadColumns({ datasetId }: { datasetId: string }) {
  const mayStore = useMay('data')
  const asIs = useQuery(columnsQuery(datasetId, null)).data
  const [chosen, setChosen] = useState<Columns | null>(null)
  const guess = asIs?.proposed_columns
  const { input, output } = chosen ?? asIs?.read_columns ?? guess ?? none
  const shown = useQuery({ ...columnsQuery(datasetId, { input, output }), enabled: output !== '' }).data
  const read = useMutation({
    mutationFn: (columns: Columns) =>
      api.PUT('/v1/data/{dataset_id}/columns', { params: { path: { dataset_id: datasetId } }, body: columns }),
    onSuccess: () => refreshRows(datasetId),
  })
  const columns = asIs?.columns ?? []
  if (!mayStore || columns.length === 0) return null
  const rows = shown?.rows.flatMap((row) => (row.error === null ? [row] : [])) ?? []
  return (
    <section className="mend" aria-label="Columns">
      <h2>Which columns hold the rows?</h2>
      <p className="quiet">
        {guess && 'No column has a name that training knows; these two look right. '}
        The file stays as it is.
        {asIs?.separator && ` Its cells are separated by ${nameOfSign(asIs.separator)}.`}
      </p>
      <div className="filters">
        <Choice
          label="Inputs are in"
          value={input ?? ''}
          values={['', ...columns]}
          textOf={(name) => name || 'no column: learn whole texts'}
          onChange={(name) => setChosen({ input: name || null, output })}
        />
        <Choice
          label="Outputs are in"
          value={output}
          values={['', ...columns]}
          textOf={(name) => name || 'choose a column'}
          onChange={(name) => setChosen({ input, output: name })}
        />
        <button
          type="button"
          className="primary"
          disabled={output === '' || read.isPending}
          onClick={() => read.mutate({ input, output })}
        >
          Use these columns
        </button>
      </div>
      {output !== '' && rows.length > 0 && <RowSample rows={rows} />}
      {read.error && <Failure error={read.error} />}
    </section>
  )
}

const signs: Record<string, string> = { ',': 'commas', ';': 'semicolons', '\t': 'tabs', '|': 'vertical bars' }
const nameOfSign = (sign: string) => signs[sign] ?? `“${sign}”`
