import type { WorkKind } from '../../src/domain/durable-work.ts'
import type { Repositories } from '../../src/repositories/database.ts'

/** Gives a turn to all work that waits, as if Temporal had its start. */
export async function startWaiting(tx: Repositories, kind: WorkKind) {
  await tx.durableWork.grant(kind, { places: 10_000, limit: 10_000 })
  for (const { id } of await tx.outbox.claim(10_000)) await tx.outbox.markDelivered(id)
}
