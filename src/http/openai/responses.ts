// OpenAI's newer form of a chat, translated to the chat route and back. A response is kept, so that another can continue it.
import { z } from 'zod'
import { deleteResponse } from '../../services/responses/delete-response.ts'
import { findResponse } from '../../services/responses/find-response.ts'
import { named } from '../kit/named-schemas.ts'
import { EventStream } from '../kit/respond.ts'
import { defineRoute } from '../kit/route.ts'
import { validateBody } from '../kit/validation.ts'
import { completionBodyLimitBytes } from '../lamini/completion-input.ts'
import { ChatRequest, type ChatCompletion } from './chat-schemas.ts'
import { chatRoutes } from './chat.ts'
import { pageOf } from './files.ts'
import { conversationBefore, keeper, responseIdIn } from './kept-responses.ts'
import { inWordsOfResponses } from './response-errors.ts'
import { streamResponse } from './response-events.ts'
import { callItem, emptyResponse, endedResponse, messageItem, ModelResponse } from './response-object.ts'
import { inputItems, ResponseItemList, ResponseItemQuery } from './response-items.ts'
import { chatOf, ResponseRequest } from './response-schemas.ts'

const [chat] = chatRoutes

const path = '/openai/v1/responses'

const ofOneResponse = {
  path: `${path}/:response_id`,
  access: 'key',
  params: z.object({ response_id: z.string().max(64).describe('The id of the response') }),
} as const

const DeletedResponse = named(
  'OpenAiDeletedResponse',
  z.object({
    id: z.string().describe('The id of the response'),
    object: z.literal('response').describe('Always response'),
    deleted: z.boolean().describe('Always true'),
  }),
)

export const responseRoutes = [
  defineRoute({
    name: 'openai_create_response',
    method: 'post',
    path,
    summary: 'Answer a text or a conversation, also one that continues a kept response',
    access: 'key',
    scope: 'inference',
    body: ResponseRequest,
    bodyLimitBytes: completionBodyLimitBytes,
    allowsNul: true,
    errorStatuses: [404],
    response: ModelResponse,
    alsoAnswers: 'text/event-stream',
    async handle(request) {
      const { caller: ctx, body } = request
      const before = await conversationBefore(ctx, body)
      const keep = keeper(ctx, body, before)
      const answer = await inWordsOfResponses(body, before.length, () =>
        chat.handle({ ...request, body: validateBody(ChatRequest, chatOf(body, before)) }),
      )
      if (answer instanceof EventStream)
        return new EventStream(
          (send) => inWordsOfResponses(body, before.length, () => streamResponse(body, answer, keep, send)),
          { hasNames: true },
        )
      const { choices, usage, ...head } = answer as z.output<typeof ChatCompletion>
      const { message, finish_reason: finishReason } = choices[0] as (typeof choices)[number]
      const calls = message.tool_calls?.map(callItem) ?? []
      const output = message.content || calls.length === 0 ? [messageItem(message.content ?? ''), ...calls] : calls
      const response = endedResponse(emptyResponse(body, head), { finishReason, usage, output })
      await keep(response)
      return response
    },
  }),
  defineRoute({
    ...ofOneResponse,
    name: 'openai_get_response',
    method: 'get',
    summary: 'Get a kept response',
    scope: 'read',
    hasLargeAnswer: true,
    response: ModelResponse,
    async handle({ caller: ctx, params }) {
      const { response } = await findResponse({ ctx, input: { id: responseIdIn(params.response_id) } })
      return response as ModelResponse
    },
  }),
  defineRoute({
    ...ofOneResponse,
    path: `${ofOneResponse.path}/input_items`,
    name: 'openai_list_response_input_items',
    method: 'get',
    summary: 'List what a kept response was asked: its input, and the conversation before it',
    scope: 'read',
    query: ResponseItemQuery,
    hasLargeAnswer: true,
    response: ResponseItemList,
    async handle({ caller: ctx, params: { response_id: responseId }, query: { after, limit = 20, order } }) {
      const stored = await findResponse({ ctx, input: { id: responseIdIn(responseId) } })
      const { items, hasMore } = inputItems(stored, { responseId, after, limit, isOldestFirst: order === 'asc' })
      return pageOf(items, hasMore)
    },
  }),
  defineRoute({
    ...ofOneResponse,
    name: 'openai_delete_response',
    method: 'delete',
    summary: 'Delete a kept response; those that continue it keep their copy of the conversation',
    scope: 'inference',
    response: DeletedResponse,
    async handle({ caller: ctx, params: { response_id: id } }) {
      await deleteResponse({ ctx, input: { id: responseIdIn(id) } })
      return { id, object: 'response' as const, deleted: true }
    },
  }),
]
