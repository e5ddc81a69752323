import { z } from 'zod'
import type { AnswerShape } from '../../domain/answer-shape.ts'
import { isText, type Prompt } from '../../domain/prompt.ts'
import { invalidInput } from '../../domain/service-error.ts'
import { createCompletion, type CompleteInput } from '../../services/completions/create.ts'
import type { PromptsAsked } from '../../services/completions/read-input.ts'
import { streamCompletions } from '../../services/completions/stream-many.ts'
import type { Ctx } from '../../services/context.ts'
import { pinModel } from '../../services/models/find-tuned.ts'
import { keepsEmpty } from '../kit/empty-fields.ts'
import { named } from '../kit/named-schemas.ts'
import { EventStream } from '../kit/respond.ts'
import { defineRoute, warningHeader } from '../kit/route.ts'
import { completionBodyLimitBytes } from '../lamini/completion-input.ts'
import { SpecialTokens } from '../lamini/schemas/prompt.ts'
import { CompletionLogprobs, eachChoice } from './choices.ts'
import { translateErrors } from './errors.ts'
import { countTokens, finishReason, generationFields, headOf, samplingOf, Usage } from './generation.ts'
import { CompletionPrompt, listOf } from './prompt.ts'
import { ResponseFormat } from '../../domain/response-format.ts'
import { StructuredOutputs } from './response-format.ts'
import { completionLogprobFields } from './sampling-fields.ts'
import { readShapes } from './shapes.ts'
import { only } from './unsupported-params.ts'

/** OpenAI's default. */
const defaultMaxTokens = 16
const maxChoices = 10_000

export const CompletionRequest = named(
  'OpenAiCompletionRequest',
  z.strictObject({
    ...generationFields,
    ...completionLogprobFields,
    prompt: CompletionPrompt,
    special_tokens: SpecialTokens,
    max_tokens: z
      .int()
      .min(0)
      .max(1_000_000)
      .nullish()
      .describe('Default 16, or 2048 for an answer of a given form. 0 needs echo'),
    response_format: ResponseFormat.nullish().describe('The form of the answers. Default text'),
    structured_outputs: keepsEmpty(StructuredOutputs.nullish()),
    best_of: only(1),
    suffix: only(''),
  }),
)
type CompletionRequest = z.output<typeof CompletionRequest>

const TextCompletion = named(
  'OpenAiCompletion',
  z.object({
    id: z.string().describe('The id of the answer'),
    object: z.literal('text_completion').describe('Always text_completion'),
    created: z.int().describe('Time of the answer, in seconds since 1970'),
    model: z.string().describe('The model that answered'),
    choices: z
      .array(
        z.object({
          index: z.int().describe('The position in choices, from 0'),
          text: z.string().describe('The answer'),
          logprobs: CompletionLogprobs,
          finish_reason: finishReason
            .nullable()
            .describe('Why the answer ended: stop or length; null in a stream before the end'),
        }),
      )
      .describe('The answers, in the order of the prompts'),
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
    warns: true,
    async handle({ caller: ctx, body: sent, signal, setHeader }) {
      const { modelName, dataId } = await pinModel(ctx, sent.model)
      const body = { ...sent, model: modelName, dataId }
      const head = {
        ...headOf(ctx, 'cmpl', { asked: sent.model, pinned: modelName }),
        object: 'text_completion' as const,
      }
      if (body.stream) return new EventStream((send) => stream(ctx, body, signal, (data) => send({ ...head, ...data })))
      const tokens = countTokens()
      const input = await inputOf(ctx, body, signal)
      const answers = await translateErrors(paramNames(body), () =>
        eachChoice(body, signal, ({ seed }, own) =>
          createCompletion({ ctx, input: seeded(input, seed), signal: own, onUsage: tokens.onUsage }),
        ),
      )
      const warning = answers.find((each) => each.warning !== null)?.warning ?? null
      if (warning !== null) setHeader(warningHeader, warning)
      const choices = input.input.prompts.flatMap((_, prompt) =>
        answers.map(({ outputs, finishReasons, logprobs }, at) =>
          choiceOf(prompt * answers.length + at, outputs[prompt]?.['output'] as string, {
            finishReason: finishReasons[prompt] ?? 'stop',
            logprobs: logprobs?.[prompt],
          }),
        ),
      )
      return { ...head, choices, usage: tokens.onWire() }
    },
  }),
]

type PinnedRequest = CompletionRequest & { dataId: string | null }

async function inputOf(ctx: Ctx, body: PinnedRequest, signal: AbortSignal): Promise<CompleteInput<PromptsAsked>> {
  const prompts = listOf(body.prompt)
  if (body.max_tokens === 0 && !body.echo)
    throw invalidInput('max_tokens', 'max_tokens must be at least 1 without echo.')
  if (body.echo && body.stream) throw invalidInput('echo', 'echo must be false when stream is true.')
  if (prompts.length * (body.n ?? 1) > maxChoices)
    throw invalidInput('n', `n must be smaller: a request may ask for at most ${maxChoices} choices in all.`)
  const shape = await shapeIn(ctx, body, { prompts, signal })
  const maxTokens = body.max_tokens ?? null
  return {
    modelName: body.model,
    input: { kind: 'prompts', prompts, specialTokens: body.special_tokens ?? true, dataId: body.dataId },
    answer: shape ? { ...shape, maxTokens } : { kind: 'text', maxTokens: maxTokens ?? defaultMaxTokens },
    sampling: samplingOf(body),
  }
}

const seeded = (input: CompleteInput<PromptsAsked>, seed: number | null) => ({
  ...input,
  sampling: { ...input.sampling, seed },
})

/** @returns null for free text. @throws ServiceError invalid_input */
async function shapeIn(
  ctx: Ctx,
  body: PinnedRequest,
  { prompts, signal }: { prompts: readonly Prompt[]; signal: AbortSignal },
): Promise<AnswerShape | null> {
  const { response_format, structured_outputs } = body
  const { shape } = await readShapes(ctx, { response_format, structured_outputs }, signal)
  const refuse = (name: string, what: string) =>
    invalidInput(name, `${name} ${what} with structured_outputs or a response_format.`)
  if (!shape) return null
  if (body.echo) throw refuse('echo', 'must be false')
  if ((body.logprobs ?? null) !== null) throw refuse('logprobs', 'must be absent')
  if (!prompts.every(isText)) throw refuse('prompt', 'must hold texts, not token ids,')
  return shape
}

const paramNames = ({ response_format: format }: CompletionRequest) => ({
  output_type: format && format.type !== 'text' ? 'response_format' : 'structured_outputs',
})

async function stream(ctx: Ctx, body: PinnedRequest, signal: AbortSignal, send: (data: object) => void) {
  const input = await inputOf(ctx, body, signal)
  if (input.input.prompts.length === 0) throw invalidInput('prompt', 'prompt must not be empty when stream is true.')
  const wantsUsage = body.stream_options?.include_usage === true
  const chunk = (choices: object[], usage: object | null = null) => send({ choices, ...(wantsUsage && { usage }) })
  const tokens = countTokens()
  const count = body.n ?? 1
  await translateErrors(paramNames(body), () =>
    eachChoice(body, signal, ({ at, seed }, own) =>
      streamCompletions({
        ctx,
        input: seeded(input, seed),
        signal: own,
        onText: (prompt, piece, logprobs) => chunk([choiceOf(prompt * count + at, piece, { logprobs })]),
        onEnd: (prompt, finishReason) => chunk([choiceOf(prompt * count + at, '', { finishReason })]),
        onUsage: tokens.onUsage,
      }),
    ),
  )
  if (wantsUsage) chunk([], tokens.onWire())
}

type Ending = { finishReason?: string; logprobs?: unknown }

const choiceOf = (index: number, text: string, { finishReason, logprobs }: Ending) => ({
  index,
  text,
  // The engine writes them in OpenAI's form.
  logprobs: (logprobs ?? null) as z.output<typeof CompletionLogprobs>,
  finish_reason: finishReason ?? null,
})
