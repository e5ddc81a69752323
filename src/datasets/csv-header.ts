// The first lines of a CSV file: the sign between cells, and the names of the columns.
import { isFieldName } from './row-fields.ts'
import { quoted } from './shown-names.ts'

const separators = [',', '\t', ';', '|'] as const

const sampledCharacters = 64 * 1024
const sampledLines = 20

/**
 * @param text the beginning of the file
 * @returns the sign in the first line that divides it into names which training reads, else the sign which divides most of the
 * next lines into as many cells as the first; of equal ones the earlier
 */
export function separatorOf(text: string): string {
  const [header = '', ...lines] = text
    .slice(0, sampledCharacters)
    .trimStart()
    .split(/\r?\n|\r/, sampledLines)
  const found = separators.filter((sign) => unquoted(header).includes(sign))
  if (found.length < 2) return found[0] ?? ','
  const named = found.find((sign) => header.split(sign).some((name) => isFieldName(name.replaceAll('"', ''))))
  if (named !== undefined) return named
  const fits = (sign: string) => lines.filter((line) => cellCount(line, sign) === cellCount(header, sign)).length
  const best = Math.max(...found.map(fits))
  return found.find((sign) => fits(sign) === best) ?? ','
}

const unquoted = (line: string) => line.replaceAll(/"[^"]*"/g, '')
const cellCount = (line: string, sign: string) => unquoted(line).split(sign).length

/** More than any table of texts has: an object is made of each row. */
const maxColumns = 10_000

/** @returns why rows under this header would lose a cell or cannot be read, or null */
export function headerProblem(names: readonly string[]): string | null {
  if (names.length > maxColumns) return `names ${names.length} columns; a file may have at most ${maxColumns}`
  const seen = new Set<string>()
  const twice = names.find((name) => name.trim() !== '' && seen.size === seen.add(name).size)
  return twice === undefined ? null : `names the column ${quoted(twice)} twice: give each column a name of its own`
}

/** Empty cells say nothing, so a line may have more of them than the header has names. */
export function rowOf(
  names: readonly string[],
  cells: readonly string[],
  separator: string,
): { value: Record<string, string> } | { problem: string } {
  const row: [string, string][] = []
  for (const [index, cell] of cells.entries()) {
    const name = names[index]
    if (name !== undefined && name.trim() !== '') row.push([name, cell])
    else if (cell === '') continue
    else if (index === 0 && /^\d+$/.test(cell)) row.push([indexColumn, cell])
    else return { problem: problemOfCell(index, names, cells, separator) }
  }
  return { value: Object.fromEntries(row) }
}

/** pandas writes the numbers of the rows so. */
const indexColumn = '(first column, without a name)'

function problemOfCell(index: number, names: readonly string[], cells: readonly string[], separator: string): string {
  if (index < names.length)
    return `has a text in column ${index + 1}, which has no name in the first line: name the column`
  const sign = separator === '\t' ? 'a tab' : quoted(separator)
  return `has ${cells.length} cells, and the first line names ${names.length} ${names.length === 1 ? 'column' : 'columns'}: put quotes around a text that contains ${sign}`
}
