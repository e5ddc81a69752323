// Counters that all api processes share. Beside Prisma on a small pool of its own, for the library and for one hot statement.
import pg from 'pg'
import { RateLimiterMemory, RateLimiterPostgres, type RateLimiterAbstract } from 'rate-limiter-flexible'
import { connectionOptions } from './connection-options.ts'

export type BucketCharge = { key: string; costMs: number }

/** Names the row that all api processes share for one key. */
export const requestBucketKey = (apiKeyId: string) => `requests:${apiKeyId}`

export type RateLimits = ReturnType<typeof connectRateLimits>

export function connectRateLimits(databaseUrl: string) {
  const pool = new pg.Pool({
    ...connectionOptions(databaseUrl),
    max: 2,
    // Counts that a crash of the database loses are no loss; ten commits a second would make everyone else's wait for the disk.
    onConnect: async (client) => void (await client.query('set synchronous_commit to off')),
  })
  // An idle connection that breaks is replaced at the next use.
  pool.on('error', () => undefined)

  return {
    /**
     * Adds to buckets that drain by a millisecond a millisecond.
     * @returns how far ahead of now each stands, in milliseconds
     */
    async charge(charges: readonly BucketCharge[]): Promise<Map<string, number>> {
      // In one order everywhere: two processes must not wait for each other's rows.
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

    /** A limiter of the library over the same table; while the database is away each process counts for itself. */
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
