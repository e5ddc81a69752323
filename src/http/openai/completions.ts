import { z } from 'zod'
import { invalidInput } from '../../domain/service-error.ts'
import { createCompletion } from '../../services/completions/create.ts'
import { streamCompletions } from '../../services/completions/stream-many.ts'
import type { Ctx } from '../../services/context.ts'
import { pinModel } from '../../services/models/find-tuned.ts'
import { named } from '../framework/named-schemas.ts'
import { EventStream } from '../framework/respond.ts'
import { defineRoute } from '../framework/route.ts'
import { completionBodyLimitBytes, promptsOf } from '../routes/completion-input.ts'
import { Prompt } from '../schemas/prompt.ts'
import { translateErrors } from './errors.ts'
import { countTokens, finishReason, generationFields, headOf, maxTokens, samplingOf, Usage } from './generation.ts'
import { only, unsupported } from './unsupported-params.ts'

/** OpenAI's default. */
const defaultMaxTokens = 16

const CompletionRequest = named(
  'OpenAiCompletionRequest',
  z.strictObject({
    ...generationFields,
    prompt: Prompt,
    max_tokens: maxTokens,
    echo: only(false),
    best_of: only(1),
    logprobs: unsupported(),
    suffix: only(''),
  }),
)
type CompletionRequest = z.output<typeof CompletionRequest>

const TextCompletion = named(
  'OpenAiCompletion',
  z.object({
    id: z.string(),
    object: z.literal('text_completion'),
    created: z.int(),
    model: z.string(),
    choices: z.array(
      z.object({ index: z.int(), text: z.string(), logprobs: z.null(), finish_reason: finishReason.nullable() }),
    ),
    usage: Usage,
  }),
)

export const completionRoutes = [
  defineRoute({
    name: 'openai_completions',
    method: 'post',
    path: '/openai/v1/completions',
    summary: 'Complete one prompt or many, as text',
    access: 'key',
    scope: 'inference',
    body: CompletionRequest,
    bodyLimitBytes: completionBodyLimitBytes,
    allowsNul: true,
    errorStatuses: [404],
    response: TextCompletion,
    alsoAnswers: 'text/event-stream',
    async handle({ caller: ctx, body: sent, signal }) {
      const { modelName, dataId } = await pinModel(ctx, sent.model)
      const body = { ...sent, model: modelName, dataId }
      const head = { ...headOf(ctx, 'cmpl', modelName), object: 'text_completion' as const }
      if (body.stream) return new EventStream((send) => stream(ctx, body, signal, (data) => send({ ...head, ...data })))
      const tokens = countTokens()
      const { outputs, finishReasons } = await translateErrors({}, () =>
        createCompletion({ ctx, input: inputOf(body), signal, onUsage: tokens.onUsage }),
      )
      const choices = outputs.map(({ output }, index) =>
        choiceOf(index, String(output), finishReasons[index] ?? 'stop'),
      )
      return { ...head, choices, usage: tokens.onWire() }
    },
  }),
]

type PinnedRequest = CompletionRequest & { dataId: string | null }

const inputOf = (body: PinnedRequest) => ({
  modelName: body.model,
  dataId: body.dataId,
  prompts: promptsOf(body),
  outputType: null,
  maxTokens: body.max_tokens ?? defaultMaxTokens,
  ...samplingOf(body),
})

async function stream(ctx: Ctx, body: PinnedRequest, signal: AbortSignal, send: (data: object) => void) {
  const input = inputOf(body)
  if (input.prompts.length === 0) throw invalidInput('prompt', 'prompt must not be empty when stream is true.')
  const wantsUsage = body.stream_options?.include_usage === true
  const chunk = (choices: object[], usage: object | null = null) => send({ choices, ...(wantsUsage && { usage }) })
  const tokens = countTokens()
  const onText = (index: number, piece: string) => chunk([choiceOf(index, piece, null)])
  const onEnd = (index: number, finishReason: string) => chunk([choiceOf(index, '', finishReason)])
  await translateErrors({}, () => streamCompletions({ ctx, input, signal, onText, onEnd, onUsage: tokens.onUsage }))
  if (wantsUsage) chunk([], tokens.onWire())
}

const choiceOf = (index: number, text: string, finishReason: string | null) => ({
  index,
  text,
  logprobs: null,
  finish_reason: finishReason,
})
