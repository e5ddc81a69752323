// The answer of /openai/v1/responses, and the events of its stream.
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { named } from '../framework/named-schemas.ts'
import type { Usage } from './generation.ts'
import type { ResponseRequest } from './response-schemas.ts'
import type { ToolCall } from './tools.ts'

const OutputText = z.object({ type: z.literal('output_text'), text: z.string(), annotations: z.array(z.never()) })
const status = z.enum(['in_progress', 'completed', 'incomplete'])

const OutputItem = z.union([
  z.object({
    type: z.literal('message'),
    id: z.string(),
    status,
    role: z.literal('assistant'),
    content: z.array(OutputText),
  }),
  z.object({
    type: z.literal('function_call'),
    id: z.string(),
    status,
    call_id: z.string(),
    name: z.string(),
    arguments: z.string(),
  }),
])
export type OutputItem = z.output<typeof OutputItem>
export type CallItem = Extract<OutputItem, { type: 'function_call' }>

export const ModelResponse = named(
  'OpenAiResponse',
  z.object({
    id: z.string(),
    object: z.literal('response'),
    created_at: z.int(),
    status,
    error: z.null(),
    incomplete_details: z.object({ reason: z.literal('max_output_tokens') }).nullable(),
    model: z.string(),
    output: z.array(OutputItem),
    usage: z
      .object({
        input_tokens: z.int(),
        input_tokens_details: z.object({ cached_tokens: z.int() }),
        output_tokens: z.int(),
        output_tokens_details: z.object({ reasoning_tokens: z.int() }),
        total_tokens: z.int(),
      })
      .nullable(),
    instructions: z.string().nullable(),
    max_output_tokens: z.int().nullable(),
    metadata: z.record(z.string(), z.string()).nullable(),
    parallel_tool_calls: z.boolean(),
    previous_response_id: z.null(),
    store: z.literal(false),
    temperature: z.number(),
    text: z.record(z.string(), z.unknown()),
    tool_choice: z.unknown(),
    tools: z.array(z.unknown()),
    top_p: z.number(),
    truncation: z.literal('disabled'),
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
    previous_response_id: null,
    store: false,
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
