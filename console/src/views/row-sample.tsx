// A few rows as the trainer reads them.
import type { Preview } from '../api/data.ts'

type Row = Preview['rows'][number]

const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))

export function RowSample({ rows }: { rows: readonly Row[] }) {
  return (
    <table className="list cards dense sample">
      <thead>
        <tr>
          <th scope="col">Input</th>
          <th scope="col">Output, which is learned</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.index}>
            <td className="text" data-name="Input">
              {inputOf(row) || <span className="quiet">none</span>}
            </td>
            <td className="text" data-name="Output">
              {outputOf(row)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** Of a conversation, what comes before the last message that is learned. */
const inputOf = ({ messages, input }: Row) =>
  messages
    ? messages
        .slice(0, -1)
        .map(({ role, text }) => `${role}: ${text}`)
        .join('\n')
    : textOf(input ?? '')

const outputOf = ({ messages, output }: Row) => (messages ? (messages.at(-1)?.text ?? '') : textOf(output ?? ''))
