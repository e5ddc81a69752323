// Lists the input of a kept response: its conversation without its own output, item by item.
import { z } from 'zod'
import { ServiceError } from '../../domain/service-error.ts'
import type { StoredResponse } from '../../repositories/stored-responses.ts'
import { named } from '../kit/named-schemas.ts'
import { queryInt, queryText } from '../kit/params.ts'
import { ListOrder, listOf } from './eval-schemas.ts'
import type { ModelResponse } from './response-object.ts'
import { textOf, type InputItem } from './response-schemas.ts'

const id = z.string().describe('The id of the item; the `after` of a page that begins behind it')
const status = z.literal('completed').describe('Always completed')

const ResponseItem = z.union([
  z.object({
    id,
    type: z.literal('message').describe('Always message'),
    role: z.string().describe('Who says the message'),
    status,
    content: z
      .array(
        z.object({
          type: z.enum(['input_text', 'output_text']).describe('output_text for the assistant'),
          text: z.string().describe('The text'),
          annotations: z.array(z.never()).optional().describe('Always empty, for output_text'),
        }),
      )
      .describe('The parts of the message'),
  }),
  z.object({
    id,
    type: z.literal('function_call').describe('Always function_call'),
    status,
    call_id: z.string().describe('The id of the call'),
    name: z.string().describe('The function'),
    arguments: z.string().describe('The arguments, as the text of a JSON object'),
  }),
  z.object({
    id,
    type: z.literal('function_call_output').describe('Always function_call_output'),
    status,
    call_id: z.string().describe('The id of the call that is answered'),
    output: z.string().describe('What the function returned'),
  }),
])
type ResponseItem = z.output<typeof ResponseItem>

export const ResponseItemList = named('OpenAiResponseItemList', listOf(ResponseItem, 'items'))

export const ResponseItemQuery = z.strictObject({
  after: queryText().optional().describe('The id of the last item of the previous page'),
  limit: queryInt({ min: 1, max: 100 }).optional().describe('Default 20'),
  order: ListOrder.optional().describe('By position; default desc, the newest first'),
})

type Asked = { responseId: string; after: string | undefined; limit: number; isOldestFirst: boolean }

/** @throws ServiceError not_found when `after` is no item of the response */
export function inputItems(
  { conversation, response }: StoredResponse,
  { responseId, after, limit, isOldestFirst }: Asked,
): { items: ResponseItem[]; hasMore: boolean } {
  const { output } = response as ModelResponse
  const asked = conversation.slice(0, conversation.length - output.length) as InputItem[]
  const all = asked.map((item, index) => itemOf(item, `item_${responseId.replace('resp_', '')}_${index}`))
  const ordered = isOldestFirst ? all : all.toReversed()
  const start = after === undefined ? 0 : ordered.findIndex((item) => item.id === after) + 1
  if (after !== undefined && start === 0)
    throw new ServiceError('not_found', 'after must be the id of an item of this response.')
  return { items: ordered.slice(start, start + limit), hasMore: ordered.length > start + limit }
}

/** Items that are answers of ours have ids; the others get one from their position. */
function itemOf(item: InputItem, ownId: string): ResponseItem {
  const head = { id: item.id ?? ownId, status: 'completed' as const }
  if (item.type === 'function_call') {
    const { type, call_id, name, arguments: text } = item
    return { ...head, type, call_id, name, arguments: text }
  }
  if (item.type === 'function_call_output')
    return { ...head, type: item.type, call_id: item.call_id, output: textOf(item.output) }
  const { role, content } = item
  const texts = typeof content === 'string' ? [content] : content.map(({ text }) => text)
  const part =
    role === 'assistant' ? { type: 'output_text' as const, annotations: [] } : { type: 'input_text' as const }
  return { ...head, type: 'message', role, content: texts.map((text) => ({ ...part, text })) }
}
