/** A column is its name, or its name with the class of its cells. The name is empty above buttons and names of rows. */
export type Column = string | readonly [name: string, className: string]

/** The names of the columns of a table. */
export function Head({ columns }: { columns: readonly Column[] }) {
  return (
    <thead>
      <tr>
        {columns.map((column) => {
          const [name, className] = typeof column === 'string' ? [column] : column
          if (name === '') return <td key="" />
          return (
            <th key={name} scope="col" className={className}>
              {name}
            </th>
          )
        })}
      </tr>
    </thead>
  )
}
