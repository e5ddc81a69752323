// Fields and calculations that the chat and completion routes share.
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { withoutPrefix } from '../../domain/model-reference.ts'
import type { Usage as TokenCounts } from '../../inference/meter.ts'
import type { Ctx } from '../../services/context.ts'
import { ModelName } from '../lamini/schemas/prompt.ts'
import { extrasOf, samplingFields } from './sampling-fields.ts'
import { ignoredText } from './unsupported-params.ts'

const stopText = z.string().min(1).max(1000)

export const generationFields = {
  model: ModelName,
  temperature: z.number().min(0).max(2).nullish().describe('Default 1'),
  top_p: z
    .number()
    .min(1e-9)
    .max(1)
    .nullish()
    .describe('Only the likeliest tokens that together have this probability. Default 1'),
  seed: z.int().nullish().describe('The same seed gives the same answer to the same request'),
  stop: z
    .union([stopText, z.array(stopText).max(16)], { error: 'must be a string or a list of at most 16 strings' })
    .nullish()
    .describe('Texts that end an answer; the text itself is left out'),
  stream: z.boolean().nullish().describe('true sends the answer piece by piece, as server-sent events. Default false'),
  stream_options: z
    .strictObject({
      include_usage: z.boolean().nullish().describe('true sends the token counts in one more event at the end'),
      include_obfuscation: z.boolean().nullish().describe('Accepted and ignored'),
    })
    .nullish()
    .describe('Options of a stream'),
  ...samplingFields,
  user: ignoredText(),
}

export const maxTokens = z
  .int()
  .min(1)
  .max(1_000_000)
  .nullish()
  .describe('The most tokens of the answer; as many as the context holds when absent')
/** The context of the model ends the text before this number is reached. */
export const asManyAsFit = 1_000_000

export const Usage = z
  .object({
    prompt_tokens: z.int().describe('Tokens of the prompts'),
    completion_tokens: z.int().describe('Tokens of the answers'),
    total_tokens: z.int().describe('The sum of both'),
  })
  .describe('The tokens of the request')

export const finishReason = z.string().describe('stop or length')

type Sampling = Pick<z.output<z.ZodObject<typeof generationFields>>, 'temperature' | 'top_p' | 'seed' | 'stop'> &
  Parameters<typeof extrasOf>[0]

export function samplingOf(body: Sampling) {
  const extras = extrasOf(body)
  return {
    temperature: body.temperature ?? 1,
    topP: body.top_p ?? null,
    seed: body.seed ?? null,
    stop: typeof body.stop === 'string' ? [body.stop] : (body.stop ?? []),
    ...(extras && { extras }),
  }
}

/**
 * @param pinned the model that answers; an alias of the catalogue is answered with its name
 * @returns the name as it was asked where it is in OpenAI's form, because clients compare the two
 */
export const answeredName = (ctx: Ctx, asked: string, pinned: string) =>
  asked.startsWith('ft:') && withoutPrefix(asked) === pinned ? asked : (ctx.deps.catalogue.find(pinned)?.name ?? pinned)

/** The first fields of an answer. */
export const headOf = (ctx: Ctx, prefix: string, { asked, pinned }: { asked: string; pinned: string }) => ({
  id: `${prefix}-${randomUUID().replaceAll('-', '')}`,
  created: seconds(new Date()),
  model: answeredName(ctx, asked, pinned),
})

export const seconds = (date: Date) => Math.floor(date.getTime() / 1000)

/** Sums the tokens that the engine counts. */
export function countTokens() {
  const sum = { promptTokens: 0, completionTokens: 0 }
  return {
    onUsage: ({ promptTokens, completionTokens }: TokenCounts) => {
      sum.promptTokens += promptTokens
      sum.completionTokens += completionTokens
    },
    onWire: (): z.output<typeof Usage> => ({
      prompt_tokens: sum.promptTokens,
      completion_tokens: sum.completionTokens,
      total_tokens: sum.promptTokens + sum.completionTokens,
    }),
  }
}
