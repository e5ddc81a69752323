import type { z } from 'zod'
import type { AnswerShape } from '../../domain/answer-shape.ts'
import { textOfParts, type ChatMessage } from '../../domain/chat.ts'
import { invalidInput } from '../../domain/service-error.ts'
import type { ReadCall } from '../../domain/tools/call-reader.ts'
import type { AnswerForm } from '../../inference/request.ts'
import { createCompletion } from '../../services/completions/create.ts'
import type { Ctx } from '../../services/context.ts'
import { pinModel } from '../../services/models/find-tuned.ts'
import { EventStream } from '../kit/respond.ts'
import { defineRoute, type Route } from '../kit/route.ts'
import { completionBodyLimitBytes } from '../lamini/completion-input.ts'
import { createDeltas } from './chat-stream.ts'
import { ChatCompletion, ChatRequest } from './chat-schemas.ts'
import { eachChoice, type ChatLogprobs } from './choices.ts'
import { translateErrors } from './errors.ts'
import { asManyAsFit, countTokens, headOf, samplingOf } from './generation.ts'
import { readShapes, type Calls } from './shapes.ts'
import { toolCallOf } from './tools.ts'

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
      const head = headOf(ctx, 'chatcmpl', { asked: body.model, pinned: model })
      const asked = await read(ctx, { ...body, model }, signal)
      if (body.stream)
        return new EventStream((send) => stream(ctx, asked, signal, (data) => send({ ...head, ...data })))
      const tokens = countTokens()
      const answers = await eachChoice(body, signal, ({ seed }, own) => answer(ctx, { ...asked, seed }, own, tokens))
      const choices = answers.map(({ text, calls, finishReason, logprobs }, index) => {
        const said = calls.length > 0 ? { content: text || null, tool_calls: calls.map(toolCallOf) } : { content: text }
        const message = { role: 'assistant' as const, refusal: null, ...said }
        return { index, message, logprobs, finish_reason: finishReason }
      })
      return { ...head, object: 'chat.completion' as const, choices, usage: tokens.onWire() }
    },
  }),
] satisfies [Route]

type Asked = { body: ChatRequest; calls: Calls | null; shape: AnswerShape | null; seed?: number | null }

async function read(ctx: Ctx, body: ChatRequest, signal: AbortSignal): Promise<Asked> {
  const { calls, shape } = await readShapes(ctx, body, signal)
  if (body.logprobs && shape)
    throw invalidInput('logprobs', 'logprobs must be false with a response_format or tools: only free text has them.')
  return { body, calls, shape }
}

async function answer(
  ctx: Ctx,
  { body, calls, shape, seed = null }: Asked,
  signal: AbortSignal,
  tokens: ReturnType<typeof countTokens>,
  onText?: (piece: string, logprobs?: unknown) => void,
) {
  const input = {
    modelName: body.model,
    input: { kind: 'chat' as const, messages: body.messages.map(messageOf), ...(calls && { tools: calls.tools }) },
    answer: formOf(body, shape),
    sampling: { ...samplingOf(body), seed },
  }
  const { outputs, finishReasons, logprobs } = await translateErrors(paramNames(body), () =>
    createCompletion({ ctx, input, signal, onText, onUsage: tokens.onUsage }),
  )
  const [output = {}] = outputs
  const [finishReason = 'stop'] = finishReasons
  const called = (output['calls'] ?? []) as ReadCall[]
  const isWholeCall = calls !== null && called.length > 0 && finishReason === 'stop'
  return {
    text: output['output'] as string,
    calls: called,
    finishReason: isWholeCall ? calls.finishReason : finishReason,
    logprobs: (logprobs?.[0] ?? null) as z.output<typeof ChatLogprobs>,
  }
}

async function stream(ctx: Ctx, asked: Asked, signal: AbortSignal, send: (data: object) => void) {
  const wantsUsage = asked.body.stream_options?.include_usage === true
  const chunk = (choices: object[], usage: object | null = null) =>
    send({ object: 'chat.completion.chunk', choices, ...(wantsUsage && { usage }) })
  const tokens = countTokens()
  await eachChoice(asked.body, signal, async ({ at: index, seed }, own) => {
    const piece = (delta: object, finishReason: string | null = null, logprobs: unknown = null) =>
      chunk([{ index, delta, logprobs, finish_reason: finishReason }])
    const deltas = createDeltas(piece)
    const calls = asked.calls && { ...asked.calls, shape: { ...asked.calls.shape, onPart: deltas.onPart } }
    const streamed = calls ? { ...asked, calls, shape: calls.shape, seed } : { ...asked, seed }
    // The parts of an answer with calls come by onPart.
    const onText = calls ? () => undefined : deltas.onText
    const { text, finishReason } = await answer(ctx, streamed, own, tokens, onText)
    if (!deltas.hasStarted()) deltas.onText(text)
    piece({}, finishReason)
  })
  if (wantsUsage) chunk([], tokens.onWire())
}

const paramNames = ({
  max_completion_tokens: limit,
  response_format: format,
  structured_outputs: outputs,
}: ChatRequest) => ({
  prompt: 'messages',
  output_type: format && format.type !== 'text' ? 'response_format' : outputs ? 'structured_outputs' : 'tools',
  ...(typeof limit === 'number' && { max_tokens: 'max_completion_tokens' }),
})

function formOf(body: ChatRequest, shape: AnswerShape | null): AnswerForm {
  const maxTokens = body.max_completion_tokens ?? body.max_tokens ?? null
  if (shape?.kind === 'schema' || shape?.kind === 'calls') return { ...shape, maxTokens }
  return { ...(shape ?? { kind: 'text' }), maxTokens: maxTokens ?? asManyAsFit }
}

function messageOf({
  role,
  content,
  tool_calls: calls,
  tool_call_id: id,
}: ChatRequest['messages'][number]): ChatMessage {
  const text = typeof content === 'string' ? content : textOfParts(content ?? [])
  return {
    role: role === 'developer' ? 'system' : role,
    content: text,
    ...(calls?.length && { calls: calls.map(({ id, function: called }) => ({ id, ...called })) }),
    ...(typeof id === 'string' && { callId: id }),
  }
}
