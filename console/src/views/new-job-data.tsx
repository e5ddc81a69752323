// The data of a new job: a file, or a data set that is there; which columns are read; what the check has found.
import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import { useState } from 'react'
import { columnsQuery, datasetsQuery, type Report } from '../api/data.ts'
import { useMay } from '../api/session.ts'
import { bytes, count, short } from '../domain/format.ts'
import type { JobForm } from '../domain/job-form.ts'
import { Card } from '../ui/card.tsx'
import { Failure, Loading } from '../ui/states.tsx'
import { When } from '../ui/text.tsx'
import { BadRowGroups } from './bad-row-groups.tsx'
import { Mix } from './new-job-mix.tsx'
import { ColumnsOf } from './read-columns.tsx'
import { RowSample } from './row-sample.tsx'
import { Upload } from './upload.tsx'

type Props = {
  form: JobForm
  change: (changes: Partial<JobForm>) => void
  choose: (id: string) => void
  report: UseQueryResult<Report | null>
  problems: ReadonlyMap<string, string>
}

export function DataPart({ form, change, choose, report, problems }: Props) {
  const { datasetId } = form
  return (
    <Card title="Data">
      <Upload done={({ id }) => choose(id)} />
      <KnownData key={datasetId === '' ? 'open' : 'folded'} datasetId={datasetId} choose={choose} />
      {datasetId !== '' && <Mix form={form} change={change} problems={problems} />}
      {datasetId !== '' && report.data === null && <p className="notice">There is no data set {datasetId}.</p>}
      {datasetId !== '' && report.isPending && <Loading what="the check of the rows" />}
      {report.error && <Failure error={report.error} retry={() => void report.refetch()} />}
      {report.data && <Checked key={datasetId} report={report.data} form={form} change={change} />}
    </Card>
  )
}

type CheckedProps = Pick<Props, 'form' | 'change'> & { report: Report }

function Checked({ report, form, change }: CheckedProps) {
  const { rows, bad_rows: bad, state } = report
  const tokens = report.token_length
  const id = report.dataset_id
  const known = useQuery(datasetsQuery).data?.datasets.find(({ dataset_id: each }) => each === id)
  const mayStore = useMay('data')
  const { data: asIs, isPending } = useQuery(columnsQuery(id, null))
  // The choice of columns mends all rows at once, so their reasons would only be in its way.
  const canChooseColumns =
    state === 'invalid' && bad === rows && mayStore && (isPending || (asIs?.columns ?? []).length > 0)
  return (
    <>
      <p className="checked">
        <strong title={id}>{known?.file_name ?? short(id)}</strong>
        {!canChooseColumns && (
          <span role="status" className={state === 'valid' ? 'status done' : 'status failed'}>
            {state === 'valid' && '● Every row can be read'}
            {state === 'invalid' && `✕ ${count(bad)} ${bad === 1 ? 'row' : 'rows'} cannot be read`}
            {state === 'empty' && '✕ There are no rows'}
          </span>
        )}
        <span className="quiet">
          {count(rows)} rows · {bytes(report.bytes)}
          {tokens && ` · median row ${tokens.input.p50} tokens in, ${tokens.output.p50} out`}
          {report.duplicates > 0 && ` · ${count(report.duplicates)} repeated`}
        </span>
      </p>
      <ColumnsOf report={report} />
      {state === 'invalid' && report.skippable && (
        <label className="inline">
          <input
            type="checkbox"
            checked={form.skipsBadRows}
            onChange={(event) => change({ skipsBadRows: event.target.checked })}
          />
          Leave out the {bad === 1 ? 'bad row' : `${count(bad)} bad rows`} and train on the other {count(rows - bad)}.
          The job keeps a list of {bad === 1 ? 'it' : 'them'}.
        </label>
      )}
      {state === 'invalid' &&
        (canChooseColumns ? (
          <details>
            <summary>Why no row can be read as the file is</summary>
            <BadRowGroups report={report} />
          </details>
        ) : (
          <BadRowGroups report={report} />
        ))}
      {(state === 'valid' || form.skipsBadRows) && <Sample datasetId={report.dataset_id} />}
    </>
  )
}

function Sample({ datasetId }: { datasetId: string }) {
  const rows = useQuery(columnsQuery(datasetId, null)).data?.rows.filter(({ error }) => error === null) ?? []
  return rows.length > 0 && <RowSample rows={rows} />
}

const mostShown = 8

/** The data sets of the account. Folded once a data set is chosen. */
function KnownData({ datasetId, choose }: { datasetId: string; choose: (id: string) => void }) {
  const all = useQuery(datasetsQuery).data?.datasets ?? []
  const [search, setSearch] = useState('')
  const wanted = search.trim().toLowerCase()
  const found = all.filter(({ dataset_id: id, file_name: file }) =>
    `${id} ${file ?? ''}`.toLowerCase().includes(wanted),
  )
  if (all.length === 0) return null
  return (
    <details open={datasetId === ''} className="known-data">
      <summary>Or choose a data set of yours ({count(all.length)})</summary>
      {all.length > mostShown && (
        <input
          type="search"
          aria-label="Search the data sets"
          placeholder="Search"
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
      )}
      <ul className="choices">
        {found.slice(0, mostShown).map(({ dataset_id: id, file_name: file, rows, bytes: size, created_at: at }) => (
          <li key={id}>
            <button type="button" aria-pressed={id === datasetId} onClick={() => choose(id)}>
              <strong title={id}>{file ?? short(id)}</strong>
              <span className="quiet small">
                {rows === null ? '' : `${count(rows)} rows · `}
                {size === null ? '' : `${bytes(size)} · `}
                <When at={at} as="age" />
              </span>
            </button>
          </li>
        ))}
      </ul>
      {found.length > mostShown && (
        <p className="quiet small">{count(found.length - mostShown)} more: search by name.</p>
      )}
    </details>
  )
}
