// Writes large JSON piece by piece: serialising the vectors of 10,000 texts takes more than a second, and a text of 64 MB half
// of one, during which this process could answer nobody.
import { setImmediate as nextTurn } from 'node:timers/promises'

/** JSON of this size is written in a few milliseconds. */
const pieceCharacters = 256 * 1024
/** Characters of a number, at most. */
const numberCharacters = 24

/** Whether JSON.stringify would take long. Costs less than it. */
export const isLargeJson = (value: unknown): boolean => roomAfter(value, pieceCharacters) < 0

/** Yields the text of JSON.stringify(value). Lets other requests run after each piece. */
export async function* jsonPieces(value: unknown): AsyncGenerator<string> {
  let piece = ''
  for (const part of partsOf(value)) {
    piece += part
    if (piece.length < pieceCharacters) continue
    yield piece
    piece = ''
    await nextTurn()
  }
  yield piece
}

/** Stops looking when no room is left. */
function roomAfter(value: unknown, room: number): number {
  if (typeof value === 'string') return room - value.length
  if (typeof value !== 'object' || value === null) return room - numberCharacters
  if (Array.isArray(value)) {
    if (typeof value[0] === 'number') return room - numberCharacters * value.length
    for (const item of value) if ((room = roomAfter(item, room)) < 0) break
  } else
    for (const [name, field] of Object.entries(value) as [string, unknown][])
      if ((room = roomAfter(field, room - name.length)) < 0) break
  return room
}

function* partsOf(value: unknown): Generator<string> {
  if (!isLargeJson(value)) yield JSON.stringify(value) ?? 'null'
  else if (typeof value === 'string') yield* partsOfText(value)
  else yield* Array.isArray(value) ? partsOfList(value) : partsOfFields(value as object)
}

function* partsOfFields(value: object): Generator<string> {
  let opening = '{'
  for (const [name, field] of Object.entries(value) as [string, unknown][]) {
    if (field === undefined) continue
    yield `${opening}${JSON.stringify(name)}:`
    opening = ','
    yield* partsOf(field)
  }
  yield '}'
}

function* partsOfList(items: readonly unknown[]): Generator<string> {
  let opening = '['
  for (const item of items) {
    yield opening
    yield* partsOf(item)
    opening = ','
  }
  yield ']'
}

/** A pair of surrogates is not divided: each half alone would be written as an escape. */
function* partsOfText(text: string): Generator<string> {
  yield '"'
  for (let start = 0; start < text.length;) {
    const end = start + pieceCharacters
    const to = isLowSurrogate(text.charCodeAt(end)) ? end - 1 : end
    yield JSON.stringify(text.slice(start, to)).slice(1, -1)
    start = to
  }
  yield '"'
}

const isLowSurrogate = (unit: number) => unit >= 0xdc00 && unit <= 0xdfff
