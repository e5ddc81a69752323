// The fields of /openai/v1/responses, and their translation to those of a chat.
import { z } from 'zod'
import { textOfParts } from '../../domain/chat.ts'
import { named } from '../kit/named-schemas.ts'
import { Metadata } from '../lamini/schemas/metadata.ts'
import { ModelName } from '../lamini/schemas/prompt.ts'
import { jsonSchema } from '../../domain/few-keys.ts'
import { generationFields, maxTokens } from './generation.ts'
import { ignoredText, only, onlyEmpty, unsupported } from './unsupported-params.ts'

const noType = 'is not supported'
const text = z.string().describe('Text')

const TextOrParts = z.union([
  text,
  z
    .array(
      z.object({
        type: z.literal(['input_text', 'output_text'], { error: noType }).describe('The kind of the part'),
        text,
      }),
    )
    .max(1000),
])

const MessageItem = z.strictObject({
  type: z.literal('message').optional().describe('Always message; may be left out'),
  role: z.enum(['system', 'developer', 'user', 'assistant']).describe('Who says the message'),
  content: TextOrParts.describe('The text of the message, or its parts'),
  // Clients send our answers back, which have these fields.
  id: ignoredText(),
  status: ignoredText(),
})

const CallItem = z.strictObject({
  type: z.literal('function_call').describe('Always function_call'),
  call_id: z.string().max(256).describe('The id of the call'),
  name: z.string().max(64).describe('The function'),
  arguments: z
    .string()
    .nullish()
    .transform((text) => text ?? '{}')
    .describe('The arguments, as the text of a JSON object; none when absent'),
  id: ignoredText(),
  status: ignoredText(),
})

const CallOutputItem = z.strictObject({
  type: z.literal('function_call_output').describe('Always function_call_output'),
  call_id: z.string().max(256).describe('The id of the call that is answered'),
  output: TextOrParts.describe('What the function returned, or its parts'),
  id: ignoredText(),
  status: ignoredText(),
})

const Format = z.union(
  [
    z.strictObject({ type: z.enum(['text', 'json_object']).describe('Free text, or any JSON object') }),
    z.strictObject({
      type: z.literal('json_schema').describe('Always json_schema: JSON of a schema'),
      name: z.string().max(64).describe('A name for the schema; not used'),
      schema: jsonSchema.describe('The JSON schema of the answer'),
      description: z.string().nullish().describe('Accepted and ignored'),
      strict: z.boolean().nullish().describe('Accepted: the answer always fits the schema'),
    }),
  ],
  { error: 'must have the type text, json_object or json_schema' },
)

const Tool = z.strictObject({
  type: z.literal('function', { error: 'must be "function": no other type is supported' }).describe('Always function'),
  name: z.string().max(64).describe('The name of the function'),
  description: z.string().nullish().describe('What it does, for the model'),
  parameters: jsonSchema.nullish().describe('A JSON schema of its arguments'),
  strict: z.boolean().nullish().describe('Accepted: arguments always fit the schema'),
})

const ToolChoice = z.union(
  [
    z.enum(['none', 'auto', 'required']),
    z.strictObject({
      type: z.literal('function').describe('Always function'),
      name: z.string().describe('The function to call'),
    }),
  ],
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
    max_output_tokens: maxTokens.describe('The most tokens of the answer; as many as the context holds when absent'),
    temperature: generationFields.temperature,
    top_p: generationFields.top_p,
    stream: generationFields.stream,
    stream_options: z
      .strictObject({ include_obfuscation: z.boolean().nullish().describe('Accepted and ignored') })
      .nullish()
      .describe('Options of a stream'),
    text: z
      .strictObject({
        format: Format.nullish().describe('The form of the answer. Default text'),
        verbosity: unsupported(),
      })
      .nullish()
      .describe('How the answer is written'),
    tools: z.array(Tool).max(128).nullish().describe('The functions that the answer may call'),
    tool_choice: ToolChoice.nullish().describe(
      'Whether the answer calls functions: none, auto, required, or one function. Default auto with tools',
    ),
    parallel_tool_calls: z.boolean().nullish().describe('Whether an answer may call several functions. Default true'),
    metadata: Metadata.nullish().describe('Up to 16 pairs, which come back with the answer'),
    store: z
      .boolean()
      .nullish()
      .describe('Whether the response is kept for 30 days, to be continued or read. Default true'),
    previous_response_id: z
      .string()
      .max(64)
      .nullish()
      .describe('A kept response, whose conversation comes before the input. Its instructions are not taken over'),
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

export type InputItem = Exclude<ResponseRequest['input'], string>[number]

export const itemsOf = (input: ResponseRequest['input']): InputItem[] =>
  typeof input === 'string' ? [{ role: 'user', content: input }] : input

/** The same request to /openai/v1/chat/completions, to be validated there. */
export function chatOf(body: ResponseRequest, before: readonly InputItem[] = []): Record<string, unknown> {
  const { model, instructions, input, tools, tool_choice: choice, max_output_tokens, temperature, top_p, stream } = body
  const said = [...before, ...itemsOf(input)].map(messageOf)
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

function messageOf(item: InputItem): object {
  if (item.type === 'function_call') {
    const call = { id: item.call_id, type: 'function', function: { name: item.name, arguments: item.arguments } }
    return { role: 'assistant', content: null, tool_calls: [call] }
  }
  if (item.type === 'function_call_output')
    return { role: 'tool', tool_call_id: item.call_id, content: textOf(item.output) }
  return { role: item.role, content: textOf(item.content) }
}

export const textOf = (content: z.output<typeof TextOrParts>): string =>
  typeof content === 'string' ? content : textOfParts(content)

function formatOf({ text }: ResponseRequest) {
  const format = text?.format
  if (format?.type !== 'json_schema') return format
  const { type, ...json_schema } = format
  return { type, json_schema }
}
