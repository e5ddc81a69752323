// The fields of /openai/v1/responses, and their translation to those of a chat.
import { z } from 'zod'
import { named } from '../framework/named-schemas.ts'
import { Metadata } from '../schemas/metadata.ts'
import { ModelName } from '../schemas/prompt.ts'
import { maxTokens } from './generation.ts'
import { ignoredText, only, onlyEmpty, unsupported } from './unsupported-params.ts'

const noType = 'is not supported'
const schema = z.record(z.string(), z.unknown())
const text = z.string().describe('Text')

const MessageItem = z.strictObject({
  type: z.literal('message').optional(),
  role: z.enum(['system', 'developer', 'user', 'assistant']),
  content: z.union([
    text,
    z
      .array(z.object({ type: z.literal(['input_text', 'output_text'], { error: noType }), text }))
      .min(1)
      .max(1000),
  ]),
  // Clients send our answers back, which have these fields.
  id: ignoredText(),
  status: ignoredText(),
})

const CallItem = z.strictObject({
  type: z.literal('function_call'),
  call_id: z.string().max(256),
  name: z.string().max(64),
  arguments: z.string(),
  id: ignoredText(),
  status: ignoredText(),
})

const CallOutputItem = z.strictObject({
  type: z.literal('function_call_output'),
  call_id: z.string().max(256),
  output: z.string(),
  id: ignoredText(),
  status: ignoredText(),
})

const Format = z.union([
  z.strictObject({ type: z.enum(['text', 'json_object']) }),
  z.strictObject({
    type: z.literal('json_schema'),
    name: z.string().max(64),
    schema,
    description: z.string().nullish(),
    strict: z.boolean().nullish(),
  }),
])

const Tool = z.strictObject({
  type: z.literal('function', { error: 'must be "function": no other type is supported' }),
  name: z.string().max(64),
  description: z.string().nullish(),
  parameters: schema.nullish(),
  strict: z.boolean().nullish(),
})

const ToolChoice = z.union(
  [z.enum(['none', 'auto', 'required']), z.strictObject({ type: z.literal('function'), name: z.string() })],
  {
    error: 'must be "none", "auto", "required", or {"type": "function", "name": …}: other tools are not supported',
  },
)

export const ResponseRequest = named(
  'OpenAiResponseRequest',
  z.strictObject({
    model: ModelName,
    input: z
      .union([
        text,
        z
          .array(
            z.union([MessageItem, CallItem, CallOutputItem], {
              error: 'must be a message, a function_call or a function_call_output: no other item is supported',
            }),
          )
          .min(1)
          .max(2048),
      ])
      .describe('A text, or messages, calls of functions and their outputs'),
    instructions: z.string().nullish().describe('A system message before the input'),
    max_output_tokens: maxTokens,
    temperature: z.number().min(0).max(2).nullish().describe('Default 1'),
    top_p: z.number().min(1e-9).max(1).nullish(),
    stream: z.boolean().nullish(),
    stream_options: z.object({ include_obfuscation: z.boolean().nullish() }).nullish(),
    text: z.strictObject({ format: Format.nullish(), verbosity: unsupported() }).nullish(),
    tools: z.array(Tool).max(128).nullish(),
    tool_choice: ToolChoice.nullish(),
    parallel_tool_calls: z.boolean().nullish(),
    metadata: Metadata.nullish(),
    store: only(false),
    previous_response_id: unsupported(),
    conversation: unsupported(),
    prompt: unsupported(),
    reasoning: unsupported(),
    background: only(false),
    include: onlyEmpty.list(),
    top_logprobs: only(0),
    truncation: only('disabled'),
    service_tier: only('auto', 'default'),
    user: ignoredText(),
    safety_identifier: ignoredText(),
    prompt_cache_key: ignoredText(),
  }),
)
export type ResponseRequest = z.output<typeof ResponseRequest>

/** The same request to /openai/v1/chat/completions, to be validated there. */
export function chatOf(body: ResponseRequest): Record<string, unknown> {
  const { model, instructions, input, tools, tool_choice: choice, max_output_tokens, temperature, top_p, stream } = body
  const said = typeof input === 'string' ? [{ role: 'user', content: input }] : input.map(messageOf)
  const named = typeof choice === 'object' && choice ? { type: 'function', function: { name: choice.name } } : choice
  return {
    model,
    messages: [...(instructions ? [{ role: 'system', content: instructions }] : []), ...said],
    max_completion_tokens: max_output_tokens,
    temperature,
    top_p,
    stream,
    ...(stream && { stream_options: { include_usage: true } }),
    response_format: formatOf(body),
    tools: tools?.map(({ type, ...declared }) => ({ type, function: declared })),
    tool_choice: named,
    parallel_tool_calls: body.parallel_tool_calls,
  }
}

type Item = Exclude<ResponseRequest['input'], string>[number]

function messageOf(item: Item): object {
  if (item.type === 'function_call') {
    const call = { id: item.call_id, type: 'function', function: { name: item.name, arguments: item.arguments } }
    return { role: 'assistant', content: null, tool_calls: [call] }
  }
  if (item.type === 'function_call_output') return { role: 'tool', tool_call_id: item.call_id, content: item.output }
  const { role, content } = item
  return { role, content: typeof content === 'string' ? content : content.map((part) => part.text).join('') }
}

function formatOf({ text }: ResponseRequest) {
  const format = text?.format
  if (format?.type !== 'json_schema') return format
  const { type, ...json_schema } = format
  return { type, json_schema }
}
