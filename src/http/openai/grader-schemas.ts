// Runs of graders, as OpenAI's API of fine-tuning writes them.
import { z } from 'zod'
import type { GraderRun } from '../../services/graders/run.ts'
import { named } from '../kit/named-schemas.ts'
import { FineTuningGrader } from '../../domain/fine-tuning-grader.ts'

const grader = FineTuningGrader.describe('How a sample is scored')

export const GraderRunRequest = named(
  'OpenAiGraderRunRequest',
  z.strictObject({
    grader,
    model_sample: z.string().max(1_000_000).describe('The answer that is scored: {{sample.output_text}}'),
    item: z.record(z.string(), z.unknown()).nullish().describe('What {{item}} names. Default {}'),
  }),
)

export const GraderValidateRequest = named('OpenAiGraderValidateRequest', z.strictObject({ grader }))

export const GraderValidated = named('OpenAiGraderValidated', z.object({ grader }))

const flag = (what: string) => z.boolean().describe(what)
const rewards = z.record(z.string(), z.number())

export const GraderRunObject = named(
  'OpenAiGraderRun',
  z.object({
    reward: z.number().describe('The score of the sample; 0 where an error is set'),
    metadata: z
      .object({
        name: z.string().describe('The name of the grader'),
        type: z.string().describe('The type of the grader'),
        errors: z
          .object({
            formula_parse_error: flag('The formula gives no finite number'),
            sample_parse_error: flag('The grader names {{sample.output_json}}, and the sample is no JSON'),
            truncated_observation_error: flag('Always false'),
            unresponsive_reward_error: flag('Always false'),
            invalid_variable_error: flag('The item or the sample lacks a part that the grader names'),
            other_error: flag('The texts have no score by this grader'),
            python_grader_server_error: flag('Always false: a sandbox that is away is a 503'),
            python_grader_server_error_type: z.null().describe('Always null'),
            python_grader_runtime_error: flag('The program failed, ended, took too long or gave no number'),
            python_grader_runtime_error_details: z
              .string()
              .nullable()
              .describe('What the program printed and its traceback, at most 4 kB'),
            model_grader_server_error: flag('The model that judges refused the request'),
            model_grader_server_error_details: z.string().nullable().describe('The sentence of that refusal'),
            model_grader_refusal_error: flag('Always false'),
            model_grader_parse_error: flag('The model that judges ran out of tokens before its verdict'),
          })
          .describe('What kept a grader from a score'),
        execution_time: z.number().describe('Seconds that the run took'),
        scores: rewards.describe('The scores of the combined graders, by their names'),
        token_usage: z.int().nullable().describe('Tokens of the models that judged; null without one'),
        sampled_model_name: z.string().nullable().describe('The model that judged; null without one or with several'),
      })
      .describe('How the reward came about'),
    sub_rewards: rewards.describe('The rewards of the combined graders, by their names; empty for any other grader'),
    model_grader_token_usage_per_model: z.record(z.string(), z.int()).describe('Tokens by the model that judged'),
  }),
)

export function graderRunOf(
  { name, type }: FineTuningGrader,
  { reward, scored }: GraderRun,
  seconds: number,
): z.output<typeof GraderRunObject> {
  const failed = scored.flatMap(({ found }) => (found.score === null ? [found] : []))
  const errorOf = (wanted: (typeof failed)[number]['problem']) =>
    failed.find(({ problem }) => problem === wanted)?.error ?? null
  const has = (wanted: Parameters<typeof errorOf>[0]) => errorOf(wanted) !== null
  const subRewards =
    type === 'multi' ? Object.fromEntries(scored.map((each) => [each.name, each.found.score ?? 0])) : {}
  const tokens: Record<string, number> = {}
  for (const { grader, found } of scored)
    if (grader.type === 'judge' && found.tokens !== undefined)
      tokens[grader.model] = (tokens[grader.model] ?? 0) + found.tokens
  const models = Object.keys(tokens)
  return {
    reward: reward ?? 0,
    metadata: {
      name,
      type,
      errors: {
        formula_parse_error: reward === null,
        sample_parse_error: has('sample is no JSON'),
        truncated_observation_error: false,
        unresponsive_reward_error: false,
        invalid_variable_error: has('missing part') || has('sample lacks a part'),
        other_error: has('no score'),
        python_grader_server_error: false,
        python_grader_server_error_type: null,
        python_grader_runtime_error: has('program failed'),
        python_grader_runtime_error_details: errorOf('program failed'),
        model_grader_server_error: has('judge refused'),
        model_grader_server_error_details: errorOf('judge refused'),
        model_grader_refusal_error: false,
        model_grader_parse_error: has('judge without a verdict'),
      },
      execution_time: seconds,
      scores: subRewards,
      token_usage: models.length === 0 ? null : Object.values(tokens).reduce((sum, count) => sum + count, 0),
      sampled_model_name: models.length === 1 ? (models[0] ?? null) : null,
    },
    sub_rewards: subRewards,
    model_grader_token_usage_per_model: tokens,
  }
}
