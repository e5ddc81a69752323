import type { StoredResponse } from '../../repositories/stored-responses.ts'
import type { Ctx } from '../context.ts'

/** An account keeps this much. The oldest responses go when there are more. */
export const responseLimits = { responses: 1000, bytes: 64 * 1024 * 1024 }

/** Stores a response until it is deleted, 30 days old, or among too many of its account. */
export async function keepResponse({
  ctx,
  input: { id, ...kept },
}: {
  ctx: Ctx
  input: StoredResponse & { id: string }
}) {
  await ctx.deps.database.storedResponses.add({ accountId: ctx.accountId, id }, kept, responseLimits)
}
