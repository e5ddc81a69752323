// What the two routes that generate have in common.
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { Usage as TokenCounts } from '../../inference/engine-client.ts'
import type { Ctx } from '../../services/context.ts'
import { ModelName } from '../schemas/prompt.ts'
import { only, onlyEmpty, remark } from './unsupported-params.ts'

const stopText = z.string().min(1).max(1000)

export const generationFields = {
  model: ModelName,
  temperature: z.number().min(0).max(2).nullish().describe('1 when absent'),
  top_p: z.number().min(1e-9).max(1).nullish(),
  seed: z.int().nullish(),
  stop: z
    .union([stopText, z.array(stopText).max(16)], { error: 'must be a text or a list of at most 16 texts' })
    .nullish(),
  stream: z.boolean().nullish(),
  stream_options: z
    .object({ include_usage: z.boolean().nullish(), include_obfuscation: z.boolean().nullish() })
    .nullish(),
  n: only(1),
  presence_penalty: only(0),
  frequency_penalty: only(0),
  logit_bias: onlyEmpty.map(),
  user: remark(),
}

export const maxTokens = z.int().min(1).max(1_000_000).nullish()
/** Of what the context leaves. */
export const asManyAsFit = 1_000_000

export const Usage = z.object({ prompt_tokens: z.int(), completion_tokens: z.int(), total_tokens: z.int() })

export const finishReason = z.string().describe('stop or length')

type Sampling = Pick<z.output<z.ZodObject<typeof generationFields>>, 'temperature' | 'top_p' | 'seed' | 'stop'>

export const samplingOf = ({ temperature, top_p, seed, stop }: Sampling) => ({
  temperature: temperature ?? 1,
  topP: top_p ?? null,
  seed: seed ?? null,
  stop: typeof stop === 'string' ? [stop] : (stop ?? []),
})

/** The head of an answer. An alias is answered with the catalogue's name. */
export const headOf = (ctx: Ctx, prefix: string, model: string) => ({
  id: `${prefix}-${randomUUID().replaceAll('-', '')}`,
  created: seconds(new Date()),
  model: ctx.deps.catalogue.find(model)?.name ?? model,
})

export const seconds = (date: Date) => Math.floor(date.getTime() / 1000)

/** Adds up what the engine counted. */
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
