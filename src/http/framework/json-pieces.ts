// JSON of long lists, a piece at a time: the vectors of 10,000 texts take more than a second to write, in which nobody else
// would be answered.
import { setImmediate as nextTurn } from 'node:timers/promises'

const longList = 100
const pieceCharacters = 256 * 1024

const isLong = (value: unknown): value is unknown[] => Array.isArray(value) && value.length > longList

/** Itself, or in one of its fields. */
export const hasLongList = (value: unknown): value is object =>
  isLong(value) || (typeof value === 'object' && value !== null && Object.values(value).some(isLong))

/** What JSON.stringify says of a value that has a long list. Others get their turn after each piece. */
export async function* jsonPieces(value: object): AsyncGenerator<string> {
  let piece = ''
  for (const part of isLong(value) ? partsOfList(value) : partsOfFields(value)) {
    piece += part
    if (piece.length < pieceCharacters) continue
    yield piece
    piece = ''
    await nextTurn()
  }
  yield piece
}

function* partsOfFields(value: object): Generator<string> {
  let opening = '{'
  for (const [name, field] of Object.entries(value) as [string, unknown][]) {
    if (field === undefined) continue
    yield `${opening}${JSON.stringify(name)}:`
    opening = ','
    if (isLong(field)) yield* partsOfList(field)
    else yield JSON.stringify(field)
  }
  yield '}'
}

function* partsOfList(items: readonly unknown[]): Generator<string> {
  let opening = '['
  for (const item of items) {
    yield opening + JSON.stringify(item)
    opening = ','
  }
  yield ']'
}
