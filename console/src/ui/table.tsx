// A table of rows. On a narrow page each row is a card, and each cell names its column, unless the rows are short.
import type { ReactNode } from 'react'
import { useRowChanges } from './row-changes.ts'

export type TableColumn<T> = {
  /** Empty above buttons. */
  name: string
  cell: (row: T) => ReactNode
  className?: string
  /** The cell that names its row. */
  isHead?: boolean
}

type Props<T> = {
  columns: readonly TableColumn<T>[]
  rows: readonly T[]
  keyOf: (row: T) => string | number
  label?: string
  isDense?: boolean
  /** Rows that fit a narrow page as they are, without their columns `medium` and `wide`. */
  isShort?: boolean
  /** The last row, such as one of sums. */
  foot?: ReactNode
}

export function Table<T>({ columns, rows, keyOf, label, isDense = false, isShort = false, foot }: Props<T>) {
  const shown = useRowChanges(rows, keyOf)
  return (
    <table className={`list ${isShort ? '' : 'cards'} ${isDense ? 'dense' : ''}`} aria-label={label}>
      <thead>
        <tr>
          {columns.map(({ name, className }) =>
            name === '' ? (
              <td key="" className={className} />
            ) : (
              <th key={name} scope="col" className={className}>
                {name}
              </th>
            ),
          )}
        </tr>
      </thead>
      <tbody>
        {shown.map(({ row, key, isGone, className }) => (
          <tr key={key} className={className} inert={isGone} aria-hidden={isGone || undefined}>
            {columns.map((column) => (
              <Cell key={column.name} column={column} row={row} />
            ))}
          </tr>
        ))}
      </tbody>
      {foot && <tfoot>{foot}</tfoot>}
    </table>
  )
}

function Cell<T>({ column: { name, cell, className, isHead }, row }: { column: TableColumn<T>; row: T }) {
  if (isHead)
    return (
      <th scope="row" className={className}>
        {cell(row)}
      </th>
    )
  return (
    <td className={className} data-name={name}>
      {cell(row)}
    </td>
  )
}
