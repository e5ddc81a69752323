// Writes JSON with long lists piece by piece: serialising the vectors of 10,000 texts takes more than a second, during which
// this process could answer nobody.
import { setImmediate as nextTurn } from 'node:timers/promises'

const longList = 100
const pieceCharacters = 256 * 1024

const isLong = (value: unknown): value is unknown[] => Array.isArray(value) && value.length > longList

/** True for a long list, or an object with one in a field. */
export const hasLongList = (value: unknown): value is object =>
  isLong(value) || (typeof value === 'object' && value !== null && Object.values(value).some(isLong))

/** Yields the text of JSON.stringify(value). Lets other requests run after each piece. */
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
