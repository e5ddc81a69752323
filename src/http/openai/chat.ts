import type { ChatMessage } from '../../domain/chat.ts'
import { createCompletion } from '../../services/completions/create.ts'
import type { Ctx } from '../../services/context.ts'
import { EventStream } from '../framework/respond.ts'
import { defineRoute } from '../framework/route.ts'
import { completionBodyLimitBytes } from '../routes/completion-input.ts'
import { ChatCompletion, ChatRequest } from './chat-schemas.ts'
import { translateErrors } from './errors.ts'
import { asManyAsFit, countTokens, headOf, samplingOf } from './generation.ts'
import { outputTypeOf } from './response-format.ts'

export const chatRoutes = [
  defineRoute({
    name: 'openai_chat_completions',
    method: 'post',
    path: '/openai/v1/chat/completions',
    summary: "Complete a conversation, formatted with the model's own chat template",
    access: 'key',
    scope: 'inference',
    body: ChatRequest,
    bodyLimitBytes: completionBodyLimitBytes,
    allowsNul: true,
    errorStatuses: [404],
    response: ChatCompletion,
    alsoAnswers: 'text/event-stream',
    async handle({ caller: ctx, body, signal }) {
      const head = headOf(ctx, 'chatcmpl', body.model)
      if (body.stream) return new EventStream((send) => stream(ctx, body, signal, (data) => send({ ...head, ...data })))
      const { text, finishReason, usage } = await answer(ctx, body, signal)
      const message = { role: 'assistant' as const, content: text, refusal: null }
      const choices = [{ index: 0, message, logprobs: null, finish_reason: finishReason }]
      return { ...head, object: 'chat.completion' as const, choices, usage }
    },
  }),
]

async function answer(ctx: Ctx, body: ChatRequest, signal: AbortSignal, onText?: (piece: string) => void) {
  const tokens = countTokens()
  const { outputs, finishReasons } = await translateErrors(paramNames(body), () =>
    createCompletion({ ctx, input: inputOf(body), signal, onText, onUsage: tokens.onUsage }),
  )
  const [output = {}] = outputs
  const [finishReason = 'stop'] = finishReasons
  const isTyped = body.response_format?.type === 'json_schema' && finishReason === 'stop'
  return { text: isTyped ? JSON.stringify(output) : String(output['output']), finishReason, usage: tokens.onWire() }
}

async function stream(ctx: Ctx, body: ChatRequest, signal: AbortSignal, send: (data: object) => void) {
  const wantsUsage = body.stream_options?.include_usage === true
  const chunk = (choices: object[], usage: object | null = null) =>
    send({ object: 'chat.completion.chunk', choices, ...(wantsUsage && { usage }) })
  const piece = (delta: object, finishReason: string | null = null) =>
    chunk([{ index: 0, delta, logprobs: null, finish_reason: finishReason }])

  let hasStarted = false
  const onText = (content: string) => {
    piece(hasStarted ? { content } : { role: 'assistant', content })
    hasStarted = true
  }
  const { text, finishReason, usage } = await answer(ctx, body, signal, onText)
  // A typed answer is sent whole, after its validation.
  if (!hasStarted) onText(text)
  piece({}, finishReason)
  if (wantsUsage) chunk([], usage)
}

const paramNames = ({ max_completion_tokens: limit }: ChatRequest) => ({
  prompt: 'messages',
  output_type: 'response_format',
  ...(typeof limit === 'number' && { max_tokens: 'max_completion_tokens' }),
})

function inputOf(body: ChatRequest) {
  const outputType = outputTypeOf(body.response_format)
  const maxTokens = body.max_completion_tokens ?? body.max_tokens ?? null
  return {
    modelName: body.model,
    prompts: [],
    messages: body.messages.map(messageOf),
    outputType,
    maxTokens: outputType ? maxTokens : (maxTokens ?? asManyAsFit),
    answerTokens: outputType && maxTokens,
    ...samplingOf(body),
  }
}

function messageOf({ role, content }: ChatRequest['messages'][number]): ChatMessage {
  const text = typeof content === 'string' ? content : (content ?? []).map((part) => part.text).join('')
  return { role: role === 'developer' ? 'system' : role, content: text }
}
