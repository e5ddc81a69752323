import { z } from 'zod'
import { keepsEmpty } from '../kit/empty-fields.ts'
import { named } from '../kit/named-schemas.ts'
import { Metadata } from '../lamini/schemas/metadata.ts'
import { ChatLogprobs } from './choices.ts'
import { finishReason, generationFields, maxTokens, Usage } from './generation.ts'
import { ignoredText, only, onlyEmpty, unsupported, withoutEffect } from './unsupported-params.ts'
import { ResponseFormat } from '../../domain/response-format.ts'
import { StructuredOutputs } from './response-format.ts'
import { chatLogprobFields } from './sampling-fields.ts'
import { isObjectText, SentToolCall, ToolCall, ToolChoice, Tools } from './tools.ts'

const TextPart = z.object({
  type: z.literal('text', { error: 'must be "text": no other type is supported' }).describe('Always text'),
  text: z.string().describe('The text'),
})

const Message = z
  .strictObject({
    role: z
      .enum(['system', 'developer', 'user', 'assistant', 'tool'])
      .describe('Who says the message; tool answers a call'),
    content: keepsEmpty(
      z
        .union([z.string(), z.array(TextPart).max(1000)], { error: 'must be a string or a list of text parts' })
        .nullish()
        .describe('The text of the message. The assistant may leave it out'),
    ),
    // Chat templates know no names.
    name: ignoredText(),
    // Clients send our answers back, which may hold these fields.
    refusal: unsupported(),
    audio: unsupported(),
    function_call: unsupported(),
    annotations: onlyEmpty.list(),
    // Other services and gateways add these to messages.
    type: only('text', 'message'),
    reasoning_content: z.string().nullish().describe('Accepted and ignored'),
    provider_specific_fields: z.unknown().optional().describe('Accepted and ignored'),
    tool_calls: z.array(SentToolCall).max(128).nullish().describe('Calls of the assistant'),
    tool_call_id: z.string().max(200).nullish().describe('The call that a message of the role tool answers'),
  })
  .superRefine(({ role, content, tool_calls: calls, tool_call_id: id }, context) => {
    const refuse = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message })
    if (calls?.length && role !== 'assistant') refuse('tool_calls', 'is for messages of the assistant')
    if (role === 'tool' && typeof id !== 'string') refuse('tool_call_id', 'is required')
    if (role !== 'assistant' && (content ?? []).length === 0 && content !== '') refuse('content', 'is required')
  })

type Message = z.output<typeof Message>

/** Bounds the arguments of all calls of a conversation, because each is parsed. */
const maxArgumentCharacters = 1_000_000

function requireArguments(messages: readonly Message[], context: z.RefinementCtx) {
  let left = maxArgumentCharacters
  for (const [at, { tool_calls: calls }] of messages.entries())
    for (const [index, { function: called }] of (calls ?? []).entries()) {
      const refuse = (message: string) =>
        context.addIssue({ code: 'custom', path: [at, 'tool_calls', index, 'function', 'arguments'], message })
      left -= called.arguments.length
      if (left < 0) return refuse(`and those before must have at most ${maxArgumentCharacters} characters together`)
      if (!isObjectText(called.arguments)) refuse('must be a JSON object')
    }
}

/** Every result answers an earlier call, and every call has its result before the user speaks again. */
const Messages = z
  .array(Message)
  .min(1)
  .max(2048)
  .superRefine(requireArguments)
  .superRefine((messages, context) => {
    const refuse = (at: number, field: string, message: string) =>
      context.addIssue({ code: 'custom', path: [at, field], message })
    const known = new Set<string>()
    const open = new Map<string, number>()
    const requireResults = () => {
      for (const [id, at] of open) {
        refuse(at, 'tool_calls', `must be answered by messages of the role tool: ${quoted(id)} is not`)
        break
      }
      open.clear()
    }
    messages.forEach(({ role, tool_calls: calls, tool_call_id: id }: Message, at) => {
      if (role === 'user') requireResults()
      for (const call of calls ?? []) {
        known.add(call.id)
        open.set(call.id, at)
      }
      if (role !== 'tool' || typeof id !== 'string') return
      if (!known.has(id)) refuse(at, 'tool_call_id', `must be the id of an earlier call: ${quoted(id)} is none`)
      open.delete(id)
    })
    requireResults()
  })

const quoted = (id: string) => JSON.stringify(id.slice(0, 100))

export const ChatRequest = named(
  'OpenAiChatRequest',
  z.strictObject({
    ...generationFields,
    messages: Messages.describe('The conversation so far, oldest first'),
    max_tokens: maxTokens,
    max_completion_tokens: maxTokens.describe('Another name of max_tokens'),
    response_format: ResponseFormat.nullish().describe('The form of the answer. Default text'),
    structured_outputs: keepsEmpty(StructuredOutputs.nullish()),
    ...chatLogprobFields,
    tools: Tools,
    tool_choice: ToolChoice.describe(
      'Whether the answer calls functions: none, auto, required, or one function. Default auto with tools',
    ),
    parallel_tool_calls: z.boolean().nullish().describe('Whether an answer may call several functions. Default true'),
    functions: onlyEmpty.list(),
    function_call: only('none', 'auto'),
    modalities: withoutEffect(
      z
        .array(z.literal('text', { error: 'is not supported' }))
        .max(4)
        .nullish()
        .describe('Only text is supported'),
    ),
    store: only(false),
    service_tier: only('auto', 'default'),
    // OpenAI keeps labels with stored answers, and nothing is stored here.
    metadata: withoutEffect(Metadata.nullish().describe('Accepted and ignored')),
    reasoning_effort: unsupported(),
    safety_identifier: ignoredText(),
    prompt_cache_key: ignoredText(),
  }),
)
export type ChatRequest = z.output<typeof ChatRequest>

export const ChatCompletion = named(
  'OpenAiChatCompletion',
  z.object({
    id: z.string().describe('The id of the answer'),
    object: z.literal('chat.completion').describe('Always chat.completion'),
    created: z.int().describe('Time of the answer, in seconds since 1970'),
    model: z.string().describe('The model that answered'),
    choices: z
      .array(
        z.object({
          index: z.int().describe('The position in choices, from 0'),
          message: z
            .object({
              role: z.literal('assistant').describe('Always assistant'),
              content: z.string().nullable().describe('The text; null when the answer only calls functions'),
              refusal: z.null().describe('Always null'),
              tool_calls: z
                .array(ToolCall)
                .optional()
                .describe('The functions that the answer calls; absent when none'),
            })
            .describe('The message of the assistant'),
          logprobs: ChatLogprobs,
          finish_reason: finishReason.describe('Why the answer ended: stop, length or tool_calls'),
        }),
      )
      .describe('The answers; one unless n asks for more'),
    usage: Usage,
  }),
)
