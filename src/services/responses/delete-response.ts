import type { Ctx } from '../context.ts'
import { noResponse } from './find-response.ts'

/** Responses that continue it keep their copy of the conversation. @throws ServiceError not_found */
export async function deleteResponse({ ctx, input: { id } }: { ctx: Ctx; input: { id: string } }) {
  const isGone = await ctx.deps.database.storedResponses.remove({ accountId: ctx.accountId, id })
  if (!isGone) throw noResponse()
}
