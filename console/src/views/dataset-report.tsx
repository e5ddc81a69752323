// What the check of a data set has found.
import type { Report } from '../api/data.ts'
import { bytes, count } from '../domain/format.ts'
import { Facts } from '../ui/facts.tsx'
import { Head } from '../ui/head.tsx'
import { BadRowGroups } from './bad-row-groups.tsx'

export function DatasetReport({ report }: { report: Report }) {
  const { input, output } = report.token_length ?? {}
  const lengths =
    input && output ? `median ${input.p50} and ${output.p50}, at most ${input.max} and ${output.max}` : '–'
  const facts: [string, string][] = [
    ['Id', report.dataset_id],
    ['Rows', count(report.rows)],
    ['Method', report.method],
    ['Size', bytes(report.bytes)],
    ['Tokens of input and output', lengths],
    ['Repeated rows', count(report.duplicates)],
    ['Empty outputs', count(report.empty_outputs)],
    ['Version', String(report.version)],
  ]
  return (
    <>
      <p role="status" className={report.state === 'valid' ? 'status done' : 'status failed'}>
        {report.state === 'valid' && <>● Every row can be read.</>}
        {report.state === 'invalid' && (
          <>
            ✕ {count(report.bad_rows)} {report.bad_rows === 1 ? 'row' : 'rows'} cannot be read.{' '}
            {report.skippable
              ? `A job trains on this file only if it leaves ${report.bad_rows === 1 ? 'this row' : 'these rows'} out.`
              : 'A job refuses such a file.'}
          </>
        )}
        {report.state === 'empty' && <>✕ There are no rows.</>}
      </p>
      <Facts facts={facts} />
      {report.token_length && <Histogram buckets={report.token_length.histogram} />}
      {report.errors.length > 0 && (
        <>
          <BadRowGroups report={report} />
          <BadRows report={report} />
        </>
      )}
      {report.unread_fields.length > 0 && <UnreadFields fields={report.unread_fields} />}
    </>
  )
}

function Histogram({ buckets }: { buckets: { up_to: number; rows: number }[] }) {
  const most = Math.max(...buckets.map(({ rows }) => rows))
  return (
    <figure>
      <figcaption className="quiet">
        Rows of a sample by their tokens, up to {count(buckets.at(-1)?.up_to ?? 0)}
      </figcaption>
      <ol className="bars">
        {buckets.map(({ up_to: upTo, rows }) => {
          const says = `rows of up to ${count(upTo)} tokens: ${count(rows)}`
          return (
            <li key={upTo} title={says} style={{ height: `${(100 * rows) / most}%` }}>
              <span className="hidden">{says}</span>
            </li>
          )
        })}
      </ol>
    </figure>
  )
}

function UnreadFields({ fields }: { fields: Report['unread_fields'] }) {
  return (
    <table className="list">
      <caption className="quiet">Fields that training does not read</caption>
      <Head columns={['Field', 'Rows', 'First line']} />
      <tbody>
        {fields.map(({ field, rows, line }) => (
          <tr key={field}>
            <td>
              <code>{field}</code>
            </td>
            <td className="number">{count(rows)}</td>
            <td className="number">{count(line)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function BadRows({ report: { errors, bad_rows: total } }: { report: Report }) {
  return (
    <details>
      <summary>{errors.length < total ? `The first ${errors.length} bad rows` : 'All bad rows'}</summary>
      <table className="list dense">
        <Head columns={[['Line', 'number'], 'Field', 'What is wrong']} />
        <tbody>
          {errors.map(({ line, field, reason }, index) => (
            <tr key={index}>
              <td className="number">{line}</td>
              <td>
                <code>{field}</code>
              </td>
              <td className="text">{reason}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  )
}
