import { randomInt } from 'node:crypto'
import type { Ctx } from '../context.ts'
import { resolveModel } from '../models/resolve.ts'

const lastsMs = 60 * 60 * 1000
/** Must exceed any batch size: a client waits for ever for a capacity below its batch. */
const leastCapacity = 10_000

/**
 * Advises old clients how much to send at once. Reserves and stores nothing.
 * @throws ServiceError model_not_found
 */
export async function createReservation({
  ctx,
  input: { modelName, capacity },
}: {
  ctx: Ctx
  input: { modelName: string | null; capacity: number }
}) {
  const { baseModel } = await resolveModel(ctx, modelName ?? ctx.deps.catalogue.defaultCompletionModel.name)
  const startsAt = new Date()
  return {
    id: randomInt(1, 2 ** 31),
    capacity: Math.max(capacity, leastCapacity),
    batchSize: baseModel.maxBatch,
    startsAt,
    endsAt: new Date(startsAt.getTime() + lastsMs),
  }
}
