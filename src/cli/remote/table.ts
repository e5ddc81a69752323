/** Columns as wide as their widest cell. */
export function table(header: readonly string[], body: readonly (readonly string[])[]): string {
  const rows = [header, ...body]
  const widths = header.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const line = (row: readonly string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')
  return rows.map((row) => line(row).trimEnd()).join('\n')
}
