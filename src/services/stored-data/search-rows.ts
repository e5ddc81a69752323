import { ServiceError } from '../../domain/service-error.ts'
import type { Activity } from '../activity.ts'
import type { NearRow, StoredRowSearch } from '../../repositories/stored-row-search.ts'
import type { Collection } from '../../repositories/stored-rows.ts'
import { createSearchTurns, type SearchLimits } from './search-turns.ts'

type Vectors = readonly (readonly number[])[]

/** @param embed makes the vectors whose nearest rows are wanted */
export type SearchRows = (
  place: Collection,
  embed: () => Promise<Vectors>,
  options: { limit: number; signal: AbortSignal },
) => Promise<NearRow[][]>

/** So few that searches leave processor time and connections of the database to everything else. */
export const searchLimits: SearchLimits = { total: 4, perAccount: 1, waitMs: 30_000 }
export const searchTimeoutMs = 10_000
/** Short searches let the accounts take turns. */
const vectorsPerSearch = 20

/**
 * While several accounts use this process, an account's searches run one at a time, together with the embedder's work for
 * them, and the account rests for as long as its search took. So they take at most half of a processor from others.
 * The returned function throws ServiceError unavailable for a search that waits or takes too long.
 */
export function createSearchRows(
  { nearest }: Pick<StoredRowSearch, 'nearest'>,
  { isShared }: Pick<Activity, 'isShared'>,
  limits = searchLimits,
): SearchRows {
  const turns = createSearchTurns(limits)
  const restMs = (accountId: string, tookMs: number) => (isShared(accountId) ? tookMs : 0)
  const sharedTurns = createSearchTurns({ ...limits, total: Number.POSITIVE_INFINITY, perAccount: 1 }, restMs)

  return (place, embed, { limit, signal }) => {
    const search = async () => searchAll(place, await embed(), limit, signal)
    return isShared(place.accountId) ? sharedTurns.run(place.accountId, signal, search) : search()
  }

  async function searchAll(place: Collection, vectors: Vectors, limit: number, signal: AbortSignal) {
    const found: NearRow[][] = []
    for (let start = 0; start < vectors.length; start += vectorsPerSearch) {
      const some = vectors.slice(start, start + vectorsPerSearch)
      const search = () => nearest(place, some, limit).catch(explain)
      found.push(...(await turns.run(place.accountId, signal, search)))
    }
    return found
  }
}

function explain(error: unknown): never {
  // The SQLSTATE of a statement that the server ended.
  const isLate = error instanceof Error && 'code' in error && error.code === '57014'
  if (!isLate) throw error
  const detail = `A search of the stored rows took longer than ${searchTimeoutMs / 1000} seconds. Try again later, or store fewer rows under the id.`
  throw new ServiceError('unavailable', detail, { retryAfterSeconds: 5 })
}
