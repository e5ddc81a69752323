// Texts and values that are as large or as awkward as a request can hold.

export const megabyte = 1024 * 1024
/** Largest bodies, less what surrounds their largest value. */
export const ordinaryBody = megabyte - 4096
export const largeBody = 64 * megabyte - 4096
/** The longest text that a body may hold, in characters of JSON. */
export const longestText = 16 * megabyte - 4096

/** @param seed makes texts differ */
export function words(characters: number, seed = 0): string {
  const unit = `tundra${seed} backpack made where stock colour price owner `
  return unit.repeat(Math.ceil(characters / unit.length)).slice(0, characters)
}

/** Two bytes a character in V8, four in UTF-8. */
export const emoji = (bytes: number) => '🎒'.repeat(Math.floor(bytes / 4))

/** Six characters in JSON for each that V8 holds. */
export const escapes = (characters: number) => '\u0001'.repeat(Math.floor(characters / 6))

export const list = <T>(count: number, item: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => item(at))

export const record = <T>(count: number, value: (at: number) => T, name = (at: number) => `field_${at}`) =>
  Object.fromEntries(list(count, (at) => [name(at), value(at)]))

/** As many names as a body may hold, in objects of as many as one may have. */
export const manyNames = (count: number) =>
  list(Math.ceil(count / 9990), (part) =>
    record(
      Math.min(9990, count),
      () => 1,
      (at) => `${part} ${at}`,
    ),
  )

export function nested(depth: number, inner: unknown = 'deep'): unknown {
  let value = inner
  for (let level = 0; level < depth; level++) value = { a: value }
  return value
}

export const metadata = record(
  16,
  () => 'm'.repeat(512),
  (at) => `${at}`.padEnd(64, 'k'),
)
