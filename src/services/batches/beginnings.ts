// The beginnings of results that clients poll. Final chunks never change, so a poll reads only those that were not read before.
// Each api process keeps beginnings by itself. What was polled least recently goes first, and an account displaces its own first.
import type { ChunkResults, InferenceBatch } from '../../domain/inference-batch.ts'

/** In characters, of which most take a byte. */
type Limits = { account: number; total: number }

const defaultLimits: Limits = { account: 8_000_000, total: 32_000_000 }
/** Characters that a chunk takes besides its text. */
const chunkOverhead = 500

type Beginning = { chunks: ChunkResults[]; size: number }
/** In the order of the latest polls. */
type Share = { beginnings: Map<string, Beginning>; size: number }
type Batch = Pick<InferenceBatch, 'id' | 'accountId'>

export type BatchBeginnings = ReturnType<typeof createBatchBeginnings>

export function createBatchBeginnings(limits = defaultLimits) {
  /** In the order of the latest polls. */
  const shares = new Map<string, Share>()
  let total = 0

  function forget({ id, accountId }: Batch) {
    const share = shares.get(accountId)
    const size = share?.beginnings.get(id)?.size ?? 0
    total -= size
    if (!share) return
    share.size -= size
    share.beginnings.delete(id)
    if (share.beginnings.size === 0) shares.delete(accountId)
  }

  function keep({ id, accountId }: Batch, beginning: Beginning) {
    const share = shares.get(accountId) ?? { beginnings: new Map<string, Beginning>(), size: 0 }
    share.beginnings.set(id, beginning)
    share.size += beginning.size
    total += beginning.size
    shares.delete(accountId)
    shares.set(accountId, share)
    while (share.size > limits.account) forget({ id: oldest(share.beginnings), accountId })
    while (total > limits.total) {
      const accountId = oldest(shares)
      forget({ id: oldest(shares.get(accountId)?.beginnings ?? new Map()), accountId })
    }
  }

  return {
    /**
     * Returns all leading chunks of a batch.
     * @param listFrom reads the leading chunks from this one on
     */
    async read(batch: Batch, listFrom: (first: number) => Promise<ChunkResults[]>): Promise<ChunkResults[]> {
      const known = shares.get(batch.accountId)?.beginnings.get(batch.id)?.chunks ?? []
      const chunks = [...known, ...(await listFrom(known.length))]
      const beginning = finalBeginning(chunks, limits.account)
      forget(batch)
      if (beginning.chunks.length > 0) keep(batch, beginning)
      return chunks
    },

    forget,
  }
}

/** As many chunks as fit into an account's share. */
function finalBeginning(chunks: readonly ChunkResults[], limit: number): Beginning {
  const beginning: Beginning = { chunks: [], size: 0 }
  for (const results of chunks) {
    const { values, finishReasons, errors } = results
    const size = values.length + finishReasons.length + errors.length + chunkOverhead
    if (!results.isFinal || beginning.size + size > limit) break
    beginning.chunks.push(results)
    beginning.size += size
  }
  return beginning
}

const oldest = <T>(map: ReadonlyMap<string, T>): string => map.keys().next().value ?? ''
