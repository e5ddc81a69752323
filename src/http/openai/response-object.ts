// The answer of /openai/v1/responses, and the events of its stream.
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { named } from '../kit/named-schemas.ts'
import type { Usage } from './generation.ts'
import type { ResponseRequest } from './response-schemas.ts'
import type { ToolCall } from './tools.ts'

const OutputText = z.object({
  type: z.literal('output_text').describe('Always output_text'),
  text: z.string().describe('The text'),
  annotations: z.array(z.never()).describe('Always empty'),
})
const status = z
  .enum(['in_progress', 'completed', 'incomplete'])
  .describe('incomplete: max_output_tokens ended the text')

const OutputItem = z.union([
  z.object({
    type: z.literal('message').describe('Always message'),
    id: z.string().describe('The id of the item'),
    status,
    role: z.literal('assistant').describe('Always assistant'),
    content: z.array(OutputText).describe('The parts of the message'),
  }),
  z.object({
    type: z.literal('function_call').describe('Always function_call'),
    id: z.string().describe('The id of the item'),
    status,
    call_id: z.string().describe('The id of the call, for its function_call_output'),
    name: z.string().describe('The function'),
    arguments: z.string().describe('The arguments, as the text of a JSON object'),
  }),
])
export type OutputItem = z.output<typeof OutputItem>
export type CallItem = Extract<OutputItem, { type: 'function_call' }>

export const ModelResponse = named(
  'OpenAiResponse',
  z.object({
    id: z.string().describe('The id of the response'),
    object: z.literal('response').describe('Always response'),
    created_at: z.int().describe('Time of the response, in seconds since 1970'),
    status,
    error: z.null().describe('Always null: failures are error answers'),
    incomplete_details: z
      .object({ reason: z.literal('max_output_tokens').describe('Always max_output_tokens') })
      .describe('Why the response is incomplete; null otherwise')
      .nullable(),
    model: z.string().describe('The model that answered'),
    output: z.array(OutputItem).describe('The message and the calls of functions'),
    usage: z
      .object({
        input_tokens: z.int().describe('Tokens of the input'),
        input_tokens_details: z
          .object({ cached_tokens: z.int().describe('Always 0: not counted') })
          .describe('Parts of input_tokens'),
        output_tokens: z.int().describe('Tokens of the output'),
        output_tokens_details: z
          .object({ reasoning_tokens: z.int().describe('Always 0: not counted') })
          .describe('Parts of output_tokens'),
        total_tokens: z.int().describe('The sum of both'),
      })
      .nullable()
      .describe('The tokens of the response; null before its end'),
    instructions: z.string().nullable().describe('As in the request'),
    max_output_tokens: z.int().nullable().describe('As in the request'),
    metadata: z.record(z.string(), z.string()).nullable().describe('As in the request'),
    parallel_tool_calls: z.boolean().describe('As in the request'),
    previous_response_id: z.string().nullable().describe('As in the request'),
    store: z.boolean().describe('Whether the response is kept'),
    temperature: z.number().describe('As in the request, or the default'),
    text: z.record(z.string(), z.unknown()).describe('As in the request'),
    tool_choice: z.unknown().describe('As in the request'),
    tools: z.array(z.unknown()).describe('As in the request'),
    top_p: z.number().describe('As in the request, or the default'),
    truncation: z.literal('disabled').describe('Always disabled: too long a request is refused'),
  }),
)
export type ModelResponse = z.output<typeof ModelResponse>

export const idWith = (prefix: string) => `${prefix}_${randomUUID().replaceAll('-', '')}`

/** A response that has no output yet. */
export function emptyResponse(
  body: ResponseRequest,
  { created, model }: { created: number; model: string },
): ModelResponse {
  return {
    id: idWith('resp'),
    object: 'response',
    created_at: created,
    status: 'in_progress',
    error: null,
    incomplete_details: null,
    model,
    output: [],
    usage: null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    metadata: body.metadata ?? {},
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: body.previous_response_id ?? null,
    store: body.store ?? true,
    temperature: body.temperature ?? 1,
    text: { format: body.text?.format ?? { type: 'text' } },
    tool_choice: body.tool_choice ?? 'auto',
    tools: body.tools ?? [],
    top_p: body.top_p ?? 1,
    truncation: 'disabled',
  }
}

type Ending = { finishReason: string | null; usage: z.output<typeof Usage> | null; output: OutputItem[] }

export function endedResponse(response: ModelResponse, { finishReason, usage, output }: Ending): ModelResponse {
  const isCut = finishReason === 'length'
  return {
    ...response,
    status: isCut ? 'incomplete' : 'completed',
    incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
    output: output.map((item) => ({ ...item, status: isCut ? ('incomplete' as const) : ('completed' as const) })),
    usage: usage && {
      input_tokens: usage.prompt_tokens,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: usage.completion_tokens,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: usage.total_tokens,
    },
  }
}

export const messageItem = (text: string, id = idWith('msg')): OutputItem => ({
  type: 'message',
  id,
  status: 'completed',
  role: 'assistant',
  content: [outputText(text)],
})

export const outputText = (text: string) => ({ type: 'output_text' as const, text, annotations: [] })

export const callItem = ({ id, function: called }: z.output<typeof ToolCall>): CallItem => ({
  type: 'function_call',
  id: idWith('fc'),
  status: 'completed',
  call_id: id,
  name: called.name,
  arguments: called.arguments,
})
