// Divides a large JSON value into pieces for another thread. Receiving a message takes time that grows with its size, so a list or
// an object that is too large for one message goes empty, and its items follow in later pieces.

/** The next items of the list, or entries of the object, at `path`. */
export type PieceOfValue =
  { path: (string | number)[]; items: unknown[] } | { path: (string | number)[]; entries: [string, unknown][] }

/** In characters and equal costs. Receiving a piece of this size takes about a millisecond. */
const pieceSize = 128 * 1024
/** A value counts so much beside its characters. */
const valueSize = 16

/** @returns the value without what follows in the pieces, which are in the order in which `attach` takes them */
export function splitValue(whole: object): { value: object; pieces: IteratorObject<PieceOfValue> } {
  const sizes = new Map<object, number>()
  measure(whole, sizes)
  const isLarge = (value: unknown): value is object => (sizes.get(value as object) ?? 0) > pieceSize
  const shell = (value: object) => (Array.isArray(value) ? [] : {})

  function* piecesOf(value: object, path: (string | number)[]): Generator<PieceOfValue> {
    const isList = Array.isArray(value)
    const large: [string | number, object][] = []
    let group: [string | number, unknown][] = []
    let size = 0
    const end = (): PieceOfValue =>
      isList ? { path, items: group.map(([, each]) => each) } : { path, entries: group as [string, unknown][] }
    for (const [key, each] of isList ? value.entries() : Object.entries(value)) {
      if (isLarge(each)) large.push([key, each])
      group.push([key, isLarge(each) ? shell(each) : each])
      size += sizeOf(each, isLarge(each) ? undefined : sizes) + valueSize
      if (size < pieceSize) continue
      yield end()
      group = []
      size = 0
    }
    if (group.length > 0) yield end()
    for (const [key, each] of large) yield* piecesOf(each, [...path, key])
  }
  return isLarge(whole) ? { value: shell(whole), pieces: piecesOf(whole, []) } : { value: whole, pieces: [].values() }
}

/** Recurses as deep as the parser lets a body be. */
function measure(value: object, sizes: Map<object, number>) {
  let size = 0
  for (const [key, each] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
    if (typeof each === 'object' && each !== null) measure(each, sizes)
    size += valueSize + (typeof key === 'string' ? key.length : 0) + sizeOf(each, sizes)
  }
  sizes.set(value, size)
}

const sizeOf = (value: unknown, sizes: Map<object, number> | undefined) =>
  typeof value === 'string' ? value.length : (sizes?.get(value as object) ?? 0)

/** Adds a piece to the value that it belongs to. */
export function attach(value: object, piece: PieceOfValue) {
  const place = piece.path.reduce((at, key) => at[key as keyof typeof at] as object, value)
  if ('items' in piece) for (const item of piece.items) (place as unknown[]).push(item)
  else for (const [name, each] of piece.entries) define(place as Record<string, unknown>, name, each)
}

/** An assignment to this name would set the prototype. */
function define(object: Record<string, unknown>, name: string, value: unknown) {
  if (name === '__proto__')
    Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true })
  else object[name] = value
}
