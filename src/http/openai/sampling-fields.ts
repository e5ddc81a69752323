// Parameters that change how tokens are chosen, or that ask for their probabilities. docs/openai.md has the table.
import { z } from 'zod'
import type { SamplingExtras } from '../../domain/sampling-extras.ts'
import { invalidInput } from '../../domain/service-error.ts'
import { fewKeys } from '../../domain/few-keys.ts'

const maxLogprobs = 20
const maxBiases = 1024
const penalty = (what: string) => z.number().min(-2).max(2).nullish().describe(what)

export const samplingFields = {
  n: z.int().min(1).max(128).nullish().describe('Answers to each prompt. Choice k has the seed of the request plus k'),
  presence_penalty: penalty('Lowers the tokens that the answer has used'),
  frequency_penalty: penalty('Lowers the tokens of the answer, each time that it uses them'),
  repetition_penalty: z
    .number()
    .min(0.01)
    .max(100)
    .nullish()
    .describe('Divides the scores of tokens that the prompt or the answer has used. As vLLM has it'),
  logit_bias: fewKeys(
    maxBiases,
    'token ids',
    z.record(
      z.string().regex(/^\d{1,9}$/, { error: 'must have token ids of the model as its keys' }),
      z.number().min(-100).max(100),
    ),
  )
    .nullish()
    .describe("Added to the scores of tokens, which are named by their ids in the model's vocabulary"),
  top_k: z
    .int()
    .min(-1)
    .max(1_000_000)
    .nullish()
    .describe('Only the k likeliest tokens; 0 or -1 for all. As vLLM has it'),
  min_p: z
    .number()
    .min(0)
    .max(1)
    .nullish()
    .describe('Only tokens with this share of the probability of the likeliest one. As vLLM has it'),
  include_stop_str_in_output: z.boolean().nullish().describe('The text that `stop` names stays in the answer'),
}

export const chatLogprobFields = {
  logprobs: z.boolean().nullish().describe('true adds the log probability of each token. Default false'),
  top_logprobs: z.int().min(0).max(maxLogprobs).nullish().describe('Needs logprobs'),
}

export const completionLogprobFields = {
  logprobs: z.int().min(0).max(maxLogprobs).nullish().describe('How many of the likeliest tokens to name'),
  echo: z
    .boolean()
    .nullish()
    .describe("The answer's text begins with the prompt, and logprobs with those of the prompt's tokens"),
}

type Fields = Partial<z.output<z.ZodObject<typeof samplingFields>>> & {
  logprobs?: number | boolean | null | undefined
  top_logprobs?: number | null | undefined
  echo?: boolean | null | undefined
}

/** What changes nothing is left out, so that the engine takes its usual way. @returns null if nothing is left */
export function extrasOf(body: Fields): SamplingExtras | null {
  const neutral: Fields = { presence_penalty: 0, frequency_penalty: 0, repetition_penalty: 1, min_p: 0, echo: false }
  const { presence_penalty, frequency_penalty, repetition_penalty, logit_bias, top_k, min_p, echo } = body
  const { include_stop_str_in_output, logprobs, top_logprobs } = body
  if (top_logprobs && logprobs !== true) throw invalidInput('top_logprobs', 'top_logprobs needs "logprobs": true.')
  const asked = Object.entries({
    presence_penalty,
    frequency_penalty,
    repetition_penalty,
    logit_bias: logit_bias && Object.keys(logit_bias).length > 0 ? logit_bias : null,
    top_k: top_k && top_k > 0 ? top_k : null,
    min_p,
    echo,
    include_stop_str_in_output: include_stop_str_in_output || null,
    logprobs: logprobs === false ? null : logprobs,
    top_logprobs: logprobs === true ? top_logprobs : null,
  }).filter(([name, value]) => (value ?? null) !== null && value !== neutral[name as keyof Fields])
  return asked.length === 0 ? null : Object.fromEntries(asked)
}
