// Responses that are kept, with the conversation that each ends.
import { ServiceError } from '../../domain/service-error.ts'
import { findResponse, noResponse } from '../../services/responses/find-response.ts'
import { keepResponse } from '../../services/responses/keep-response.ts'
import type { Ctx } from '../../services/context.ts'
import { notFoundAt } from './errors.ts'
import { requireUuid } from './ids.ts'
import type { ModelResponse } from './response-object.ts'
import { itemsOf, type InputItem, type ResponseRequest } from './response-schemas.ts'

/** @returns the conversation before this request. @throws ServiceError not_found naming previous_response_id */
export async function conversationBefore(
  ctx: Ctx,
  { previous_response_id: id }: ResponseRequest,
): Promise<InputItem[]> {
  if (id === null || id === undefined) return []
  try {
    const { conversation } = await findResponse({ ctx, input: { id: responseIdIn(id) } })
    return conversation as InputItem[]
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'not_found') throw error
    throw notFoundAt('previous_response_id', error.message)
  }
}

/** @returns what keeps the response, unless the request forbids it */
export function keeper(ctx: Ctx, body: ResponseRequest, before: readonly InputItem[]) {
  return async (response: ModelResponse): Promise<void> => {
    if (!response.store) return
    const conversation = [...before, ...itemsOf(body.input), ...response.output]
    await keepResponse({ ctx, input: { id: responseIdIn(response.id), conversation, response } })
  }
}

/** @throws ServiceError not_found */
export const responseIdIn = (id: string) => requireUuid('resp', id, noResponse)
