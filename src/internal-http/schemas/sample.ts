import { z } from 'zod'

const maxAnswers = 256
const maxTokens = 1 << 20
const place = { row: z.int32().min(0), index: z.int32().min(0) }

type Asked = { max_tokens: number; answers: readonly unknown[] }
const sumOf = (prompts: readonly Asked[], count: (prompt: Asked) => number) =>
  prompts.reduce((sum, prompt) => sum + count(prompt), 0)

export const SampleRequest = z.object({
  policy_step: z.int32().min(0).describe('The updates that the policy has seen'),
  prompts: z
    .array(
      z.object({
        row: place.row,
        tokens: z.array(z.int32().min(0)).min(1).max(1_000_000),
        max_tokens: z.int().min(1).max(1_000_000).describe('The most tokens of an answer'),
        answers: z
          .array(z.object({ index: place.index, seed: z.string().regex(/^\d{1,19}$/, 'must be 1 to 19 digits') }))
          .min(1)
          .max(maxAnswers),
      }),
    )
    .min(1)
    .max(maxAnswers)
    .refine((prompts) => sumOf(prompts, ({ answers }) => answers.length) <= maxAnswers, {
      error: `must ask for at most ${maxAnswers} answers in all`,
    })
    .refine(
      (prompts) => {
        const answers = sumOf(prompts, (prompt) => prompt.answers.length)
        return answers === 1 || sumOf(prompts, (prompt) => prompt.answers.length * prompt.max_tokens) <= maxTokens
      },
      { error: `must allow at most ${maxTokens} tokens in all answers together` },
    ),
})

export const SampleAnswer = z.object({
  sampled: z.array(
    z.object({
      ...place,
      tokens: z.array(z.int().min(0)).describe('With the token that ended the answer, if one did'),
      logps: z.array(z.number()).describe('The log-probabilities by which the tokens were drawn'),
      finish_reason: z.string(),
    }),
  ),
  waiting: z.array(z.object(place)).describe('Answers that are not complete yet: ask again'),
  waiting_for: z.string().nullable().describe('Why no model server draws them; null while one does'),
})
