import type { ReactNode } from 'react'
import { Head } from '../ui/head.tsx'
import { Empty } from '../ui/states.tsx'

/** The first cell of a row names it. On a narrow page each row is a card. */
export function Table({ head, rows, empty }: { head: readonly string[]; rows: readonly ReactNode[][]; empty: string }) {
  if (rows.length === 0) return <Empty>{empty}</Empty>
  return (
    <table className="list cards">
      <Head columns={head} />
      <tbody>
        {rows.map(([name, ...cells], index) => (
          <tr key={index}>
            <th scope="row" className="text">
              {name}
            </th>
            {cells.map((cell, column) => (
              <td key={column} className="text" data-name={head[column + 1]}>
                {cell}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
