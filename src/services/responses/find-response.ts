import { ServiceError } from '../../domain/service-error.ts'
import type { StoredResponse } from '../../repositories/stored-responses.ts'
import type { Ctx } from '../context.ts'

type Asked = { ctx: Ctx; input: { id: string } }

/** @throws ServiceError not_found */
export async function findResponse({ ctx, input: { id } }: Asked): Promise<StoredResponse> {
  const found = await ctx.deps.database.storedResponses.find({ accountId: ctx.accountId, id })
  if (!found) throw noResponse()
  return found
}

export const noResponse = () =>
  new ServiceError(
    'not_found',
    'There is no such response. A response with store: false is not kept. Others are kept for 30 days, at most 1000 of an account.',
  )
