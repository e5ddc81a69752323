// `n`: several answers to the same request. Each is a call of its own, so each counts in the turns between accounts, and a
// seeded choice is the answer that its own seed gives alone, on every engine.
import { z } from 'zod'

/** Enough to fill an engine's batch. */
const choicesAtOnce = 16

type Asked = { [name in 'n' | 'seed' | 'temperature']?: number | null | undefined } & {
  stream?: boolean | null | undefined
}

/** Runs `one` for each choice. At temperature 0 all choices are the same: it runs once, and nothing is counted twice. */
export async function eachChoice<T>(
  { n, seed, temperature, stream }: Asked,
  signal: AbortSignal,
  one: (choice: { at: number; seed: number | null }, signal: AbortSignal) => Promise<T>,
): Promise<T[]> {
  const count = n ?? 1
  if (count === 1) return [await one({ at: 0, seed: seed ?? null }, signal)]
  const isSame = temperature === 0 && !stream
  const failed = new AbortController()
  const own = AbortSignal.any([signal, failed.signal])
  const left = Array.from({ length: isSame ? 1 : count }, (_, at) => at).values()
  const answers: T[] = []
  const drain = async () => {
    for (const at of left)
      answers[at] = await one({ at, seed: (seed ?? null) === null ? null : (seed as number) + at }, own)
  }
  const drains = Array.from({ length: Math.min(choicesAtOnce, count) }, () =>
    drain().catch((error: unknown) => failed.abort(error)),
  )
  await Promise.all(drains)
  failed.signal.throwIfAborted()
  return isSame ? Array.from({ length: count }, () => answers[0] as T) : answers
}

const TokenLogprob = z.object({
  token: z.string().describe('The text of the token'),
  logprob: z.number().describe('Its log probability'),
  bytes: z.array(z.int()).nullable().describe('Its bytes in UTF-8; null when unknown'),
})

export const ChatLogprobs = z
  .object({
    content: z
      .array(
        TokenLogprob.extend({ top_logprobs: z.array(TokenLogprob).describe('The likeliest tokens at this place') }),
      )
      .describe('The tokens of the answer, in order'),
    refusal: z.null().optional().describe('Always null'),
  })
  .nullable()
  .describe('Of the model itself, before penalties, temperature and filters')

export const CompletionLogprobs = z
  .object({
    tokens: z.array(z.string()).describe('The texts of the tokens, in order'),
    token_logprobs: z
      .array(z.number().nullable())
      .describe('Their log probabilities; null for the first token of a prompt'),
    top_logprobs: z
      .array(z.record(z.string(), z.number()).nullable())
      .nullable()
      .describe('The likeliest tokens at each place, with their log probabilities'),
    text_offset: z.array(z.int()).describe('Where each token begins in the text'),
  })
  .nullable()
  .describe('Of the model itself, before penalties, temperature and filters')
