import type { Report } from '../api/data.ts'
import { count } from '../domain/format.ts'
import { Head } from '../ui/head.tsx'

/** Why rows are bad: each reason once, with the number of its rows and the first lines. */
export function BadRowGroups({ report: { error_groups: groups, bad_rows: total } }: { report: Report }) {
  return (
    <table className="list dense">
      <caption className="quiet small">
        Why {count(total)} {total === 1 ? 'row is' : 'rows are'} bad
      </caption>
      <Head columns={[['Rows', 'number'], 'What is wrong', 'Lines']} />
      <tbody>
        {groups.map(({ field, reason, rows, lines }) => (
          <tr key={`${field} ${reason}`}>
            <td className="number">{count(rows)}</td>
            <td className="text">
              <code>{field}</code> {reason}
            </td>
            <td>
              {lines.join(', ')}
              {rows > lines.length && '…'}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
