import type { z } from 'zod'
import type { ChatMessage } from '../../domain/chat.ts'
import type { OutputType } from '../../domain/output-type.ts'
import { invalidInput } from '../../domain/service-error.ts'
import { createCompletion } from '../../services/completions/create.ts'
import type { Ctx } from '../../services/context.ts'
import { pinModel } from '../../services/models/find-tuned.ts'
import { EventStream } from '../framework/respond.ts'
import { defineRoute } from '../framework/route.ts'
import { completionBodyLimitBytes } from '../routes/completion-input.ts'
import { ChatCompletion, ChatRequest } from './chat-schemas.ts'
import { eachChoice, type ChatLogprobs } from './choices.ts'
import { translateErrors } from './errors.ts'
import { asManyAsFit, countTokens, headOf, samplingOf } from './generation.ts'
import { outputTypeOf } from './response-format.ts'
import { forcedCallOf, toolCallOf, type ForcedCall } from './tools.ts'

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
      const { modelName: model } = await pinModel(ctx, body.model)
      const head = headOf(ctx, 'chatcmpl', model)
      const asked = await readTypes({ ...body, model })
      if (body.stream)
        return new EventStream((send) => stream(ctx, asked, signal, (data) => send({ ...head, ...data })))
      const tokens = countTokens()
      const answers = await eachChoice(body, signal, ({ seed }, own) => answer(ctx, { ...asked, seed }, own, tokens))
      const choices = answers.map(({ text, finishReason, logprobs }, index) => {
        const said = asked.call ? { content: null, tool_calls: [toolCallOf(asked.call, text)] } : { content: text }
        const message = { role: 'assistant' as const, refusal: null, ...said }
        return { index, message, logprobs, finish_reason: finishReason }
      })
      return { ...head, object: 'chat.completion' as const, choices, usage: tokens.onWire() }
    },
  }),
]

type Asked = { body: ChatRequest; call: ForcedCall | null; outputType: OutputType | null; seed?: number | null }

/** A typed answer is the content, or the arguments of a call. */
async function readTypes(body: ChatRequest): Promise<Asked> {
  const call = await translateErrors({ output_type: 'tools' }, () => forcedCallOf(body))
  const content = await translateErrors({ output_type: 'response_format' }, () => outputTypeOf(body.response_format))
  if (call && content)
    throw invalidInput('response_format', 'response_format must be text when tool_choice asks for a call.')
  if (body.logprobs && (call ?? content))
    throw invalidInput('logprobs', 'logprobs must be false for a typed answer or a call: only text has them.')
  return { body, call, outputType: call?.outputType ?? content }
}

async function answer(
  ctx: Ctx,
  { body, call, outputType, seed = null }: Asked,
  signal: AbortSignal,
  tokens: ReturnType<typeof countTokens>,
  onText?: (piece: string, logprobs?: unknown) => void,
) {
  const { outputs, finishReasons, logprobs } = await translateErrors(
    paramNames(body, call ? 'tools' : 'response_format'),
    () =>
      createCompletion({
        ctx,
        input: { ...inputOf(body, outputType), seed },
        signal,
        onText,
        onUsage: tokens.onUsage,
      }),
  )
  const [output = {}] = outputs
  const [finishReason = 'stop'] = finishReasons
  const isWhole = finishReason === 'stop'
  const text = outputType && isWhole ? JSON.stringify(output) : String(output['output'])
  return {
    text,
    finishReason: call && isWhole ? call.finishReason : finishReason,
    logprobs: (logprobs?.[0] ?? null) as z.output<typeof ChatLogprobs>,
  }
}

async function stream(ctx: Ctx, asked: Asked, signal: AbortSignal, send: (data: object) => void) {
  const { body, call } = asked
  const wantsUsage = body.stream_options?.include_usage === true
  const chunk = (choices: object[], usage: object | null = null) =>
    send({ object: 'chat.completion.chunk', choices, ...(wantsUsage && { usage }) })
  const tokens = countTokens()
  await eachChoice(body, signal, async ({ at: index, seed }, own) => {
    const piece = (delta: object, finishReason: string | null = null, logprobs: unknown = null) =>
      chunk([{ index, delta, logprobs, finish_reason: finishReason }])
    let hasStarted = false
    const onText = (content: string, logprobs?: unknown) => {
      piece(hasStarted ? { content } : { role: 'assistant', content }, null, logprobs)
      hasStarted = true
    }
    const { text, finishReason } = await answer(ctx, { ...asked, seed }, own, tokens, onText)
    // A typed answer is sent whole, after its validation.
    if (call) piece({ role: 'assistant', content: null, tool_calls: [{ index: 0, ...toolCallOf(call, text) }] })
    else if (!hasStarted) onText(text)
    piece({}, finishReason)
  })
  if (wantsUsage) chunk([], tokens.onWire())
}

const paramNames = ({ max_completion_tokens: limit }: ChatRequest, typed: string) => ({
  prompt: 'messages',
  output_type: typed,
  ...(typeof limit === 'number' && { max_tokens: 'max_completion_tokens' }),
})

function inputOf(body: ChatRequest, outputType: OutputType | null) {
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
