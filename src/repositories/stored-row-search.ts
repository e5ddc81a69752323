// Searches stored rows, on a small connection pool of its own, so that no other query waits behind a search.
//
// A small collection is compared row by row. A large one is searched with the index of all accounts: pgvector walks it from
// near to far and skips the rows of other collections, up to a number of rows. A vector for which the index finds too few,
// because very many rows of others are nearer, is compared row by row too. Rows of others cost time, and may cost some recall (docs/lab/retrieval.md).
import pg from 'pg'
import { connectionOptions, databaseTimeouts, type DatabaseAddress } from './connection-options.ts'
import type { Collection } from './stored-rows.ts'

type Vector = readonly number[]
type Hit = { at: number; text: string; distance: number }
export type NearRow = { text: string; similarity: number }
export type StoredRowSearch = ReturnType<typeof connectStoredRowSearch>

type SearchOptions = {
  connections: number
  /** The server ends a longer search. */
  timeoutMs: number
  /** The most rows of a collection that are compared row by row. */
  exactRows?: number
  /** The most rows of the index that one search looks at. */
  indexRows?: number
}

export function connectStoredRowSearch(at: string | DatabaseAddress, options: SearchOptions) {
  const { connections, timeoutMs, exactRows = 20_000, indexRows = 20_000 } = options
  const pool = new pg.Pool({
    ...connectionOptions(at, { ...databaseTimeouts, statementMs: timeoutMs }),
    max: connections,
    onConnect: async (client) => void (await client.query(settings(indexRows))),
  })
  // The pool replaces a broken idle connection at its next use.
  pool.on('error', () => undefined)

  async function rowCount({ accountId, collection }: Collection): Promise<number> {
    const { rows } = await pool.query<{ count: number }>({
      name: 'stored-row-count',
      text: 'select row_count as count from stored_collections where account_id = $1 and collection = $2',
      values: [accountId, collection],
    })
    return rows[0]?.count ?? 0
  }

  async function search(text: string, place: Collection, vectors: readonly Vector[], limit: number) {
    const values = [vectors.map((vector) => `[${vector.join(',')}]`), place.accountId, place.collection, limit]
    const { rows } = await pool.query<Hit>({ text, values })
    const found = vectors.map((): NearRow[] => [])
    for (const { at, text: row, distance } of rows) found[at - 1]?.push({ text: row, similarity: 1 - distance })
    return found
  }

  return {
    /** Finds the nearest rows of each vector, nearest first. */
    async nearest(place: Collection, vectors: readonly Vector[], limit: number): Promise<NearRow[][]> {
      if ((await rowCount(place)) <= exactRows) return search(exact, place, vectors, limit)
      const found = await search(byIndex, place, vectors, limit * oversampling)
      for (const [at, vector] of vectors.entries()) {
        const rows = found[at] ?? []
        const isEnough = rows.length === limit * oversampling
        found[at] = isEnough ? rows.slice(0, limit) : ((await search(exact, place, [vector], limit))[0] ?? [])
      }
      return found
    },

    close: () => pool.end(),
  }
}

/** The index gives its rows in roughly the right order, so the best are chosen among more. */
const oversampling = 10

/** Without sorts the planner takes the index wherever the order allows it, whatever it believes about the collection's size. */
const settings = (indexRows: number) => `
  set hnsw.iterative_scan = relaxed_order;
  set hnsw.ef_search = 100;
  set hnsw.max_scan_tuples = ${indexRows};
  set enable_sort = off;
  set jit = off`

/** Adding zero keeps the planner from the index. */
const exact = statement('(embedding <=> query.vector) + 0, id')
const byIndex = statement('embedding <=> query.vector')

function statement(order: string): string {
  return `
    with query as materialized (
      select vector::vector(384) as vector, at from unnest($1::text[]) with ordinality as sent(vector, at))
    select query.at::int as at, hit.text, hit.distance from query cross join lateral (
      select id, text, embedding <=> query.vector as distance from stored_rows
      where account_id = $2::uuid and collection = $3 and embedding is not null
      order by ${order} limit $4) as hit
    order by query.at, hit.distance, hit.id`
}
