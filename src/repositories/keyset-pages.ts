/** Sorts before every id. */
export const firstId = '00000000-0000-0000-0000-000000000000'

/** Yields pages of rows in key order. Each page starts after the last row of the page before. */
export async function* keysetPages<Key, Row extends Key>(
  beforeAll: Key,
  pageSize: number,
  read: (after: Key) => Promise<Row[]>,
): AsyncGenerator<Row[]> {
  let after: Key | undefined = beforeAll
  while (after !== undefined) {
    const page: Row[] = await read(after)
    if (page.length > 0) yield page
    after = page.length < pageSize ? undefined : page.at(-1)
  }
}
