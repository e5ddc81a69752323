// Counters that all api processes share, on a small connection pool of their own.
import pg from 'pg'
import { RateLimiterMemory, RateLimiterPostgres, type RateLimiterAbstract } from 'rate-limiter-flexible'
import { connectionOptions, type DatabaseAddress } from './connection-options.ts'

export type BucketCharge = { key: string; costMs: number }

/** Id of the row that all api processes share for a key. */
export const requestBucketKey = (apiKeyId: string) => `requests:${apiKeyId}`

export type RateLimits = ReturnType<typeof connectRateLimits>

export function connectRateLimits(at: string | DatabaseAddress) {
  const pool = new pg.Pool({
    ...connectionOptions(at),
    max: 2,
    // A database crash may lose counts. Waiting for the disk ten times a second would slow down everyone's commits.
    onConnect: async (client) => void (await client.query('set synchronous_commit to off')),
  })
  // The pool replaces a broken idle connection at its next use.
  pool.on('error', () => undefined)

  return {
    /**
     * Adds to buckets, which drain by one millisecond per millisecond.
     * @returns each bucket's level in milliseconds
     */
    async charge(charges: readonly BucketCharge[]): Promise<Map<string, number>> {
      // The same order in every process avoids deadlocks.
      const sorted = charges.toSorted((a, b) => (a.key < b.key ? -1 : 1))
      const { rows } = await pool.query<{ key: string; ahead: string }>({
        name: 'charge-buckets',
        text: `insert into rate_limits as bucket (key, points, expire)
          select key, cost, floor(extract(epoch from clock_timestamp()) * 1000)::bigint + cost
          from unnest($1::text[], $2::int[]) as charge (key, cost)
          on conflict (key) do update set points = excluded.points,
            expire = greatest(bucket.expire, excluded.expire - excluded.points) + excluded.points
          returning key, expire - floor(extract(epoch from clock_timestamp()) * 1000)::bigint as ahead`,
        values: [sorted.map(({ key }) => key), sorted.map(({ costMs }) => costMs)],
      })
      return new Map(rows.map(({ key, ahead }) => [key, Number(ahead)]))
    },

    /** A limiter of rate-limiter-flexible on the same table. Without the database each process counts alone. */
    limiter({
      keyPrefix,
      points,
      seconds,
    }: {
      keyPrefix: string
      points: number
      seconds: number
    }): RateLimiterAbstract {
      const window = { points, duration: seconds }
      return new RateLimiterPostgres({
        ...window,
        keyPrefix,
        storeClient: pool,
        tableName: 'rate_limits',
        tableCreated: true,
        inMemoryBlockOnConsumed: points,
        insuranceLimiter: new RateLimiterMemory(window),
      })
    },

    close: () => pool.end(),
  }
}
