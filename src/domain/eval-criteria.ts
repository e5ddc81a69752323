// Testing criteria of evals in OpenAI's words, and the graders that they mean.
import { z } from 'zod'
import type { StoredCriterion } from './eval-run.ts'
import type { Grader } from './grader.ts'
import type { ItemGrader } from './item-grader.ts'
import { isReference, maxReferenceLength, referencesIn } from './item-template.ts'
import { pythonParameters, sourcesProblem } from './python-grader.ts'

const templateError = `may name parts as {{item.name}} and {{sample.output_text}} only, in at most ${maxReferenceLength} characters each`
const template = () =>
  z
    .string()
    .max(20_000)
    .refine((text) => referencesIn(text).every(isReference), { error: templateError })

const onlyText = 'must be text, or parts of the types input_text and output_text: no other content is supported'
const TextPart = z.strictObject({
  type: z.enum(['input_text', 'output_text', 'text']).describe('The kind of the part'),
  text: template().describe('The text'),
})

/** A message of a template. Its texts may name parts of the item. */
const TemplateMessage = z.strictObject({
  role: z.enum(['system', 'developer', 'user', 'assistant']).describe('Who says the message'),
  content: z
    .union(
      [
        template(),
        TextPart,
        z
          .array(z.union([template(), TextPart]))
          .min(1)
          .max(100),
      ],
      { error: onlyText },
    )
    .describe('The text, or its parts; {{item.name}} stands for a part of the item'),
  type: z.literal('message').optional().describe('Always message; may be left out'),
})

export const TemplateMessages = z.array(TemplateMessage).min(1).max(100)

const name = z.string().min(1).max(64).describe('The name of the criterion, which its results carry')
const model = z.string().min(1).max(256).describe('The model that judges: a base or tuned completion model')
const input = TemplateMessages.describe('The conversation that the judge gets')
const label = z.string().min(1).max(200)

/** The metrics that our graders have, by OpenAI's names. */
const similarities = {
  bleu: { type: 'bleu' },
  cosine: { type: 'embedding_similarity' },
  fuzzy_match: { type: 'fuzzy_match' },
  gleu: { type: 'gleu' },
  rouge_1: { type: 'rouge_n', n: 1 },
  rouge_2: { type: 'rouge_n', n: 2 },
  rouge_3: { type: 'rouge_n', n: 3 },
  rouge_4: { type: 'rouge_n', n: 4 },
  rouge_5: { type: 'rouge_n', n: 5 },
  rouge_l: { type: 'rouge_l' },
} as const satisfies Record<string, Grader>
const metrics = Object.keys(similarities) as (keyof typeof similarities)[]

const checks = {
  eq: { type: 'equals' },
  ne: { type: 'equals', negate: true },
  like: { type: 'includes' },
  ilike: { type: 'includes', ignore_case: true },
} as const satisfies Record<string, Grader>
const operations = Object.keys(checks) as (keyof typeof checks)[]

const Range = z
  .tuple([z.number(), z.number()], { error: 'must be two numbers' })
  .refine(([low, high]) => low < high, { error: 'must be two numbers, the smaller first' })
  // Linters and generators of clients know lists of numbers, but no tuples.
  .meta({ items: { type: 'number' }, minItems: 2, maxItems: 2, prefixItems: undefined })

const JudgeSampling = z.strictObject({
  temperature: z.number().min(0).max(2).nullish().describe('Default 0'),
  top_p: z.number().min(1e-9).max(1).nullish().describe('Default 1'),
  seed: z.int().nullish().describe('The same seed gives the same judgement'),
  max_completions_tokens: z.int().min(1).max(1_000_000).nullish().describe('The most tokens of the judgement'),
  reasoning_effort: z.null({ error: 'is not supported' }).optional().describe('Not supported: leave it out'),
})

const quoted = (value: unknown) => String(JSON.stringify(value)).slice(0, 100)

const known = ['string_check', 'text_similarity', 'score_model', 'label_model', 'python'] as const

export const StringCheck = z.strictObject({
  type: z.literal('string_check').describe('Compares two texts'),
  name,
  input: template().describe('The text that is checked'),
  reference: template().describe('The text that it is compared with'),
  operation: z
    .enum(operations)
    .describe('eq: the same; ne: another one; like: contains the reference; ilike: the same without case'),
})

export const TextSimilarity = z.strictObject({
  type: z.literal('text_similarity').describe('Measures how alike two texts are'),
  name,
  input: template().describe('The text that is measured'),
  reference: template().describe('The text that it is compared with'),
  evaluation_metric: z
    .enum(metrics, {
      error: ({ input: given }) =>
        given === undefined ? undefined : `${quoted(given)} is not supported: use ${metrics.join(', ')}`,
    })
    .describe('The measure, from 0 to 1'),
  pass_threshold: z.number().describe('The least score that passes'),
})

export const ScoreModel = z.strictObject({
  type: z.literal('score_model').describe('A model gives a number'),
  name,
  model,
  input,
  range: Range.nullish().describe('The least and the largest number. Default [0, 1]'),
  pass_threshold: z.number().nullish().describe('The least score that passes. Default: the middle of the range'),
  sampling_params: JudgeSampling.nullish().describe('How the judge answers'),
})

export const LabelModel = z.strictObject({
  type: z.literal('label_model').describe('A model chooses a label'),
  name,
  model,
  input,
  labels: z.array(label).min(1).max(100).describe('The labels to choose from'),
  passing_labels: z.array(label).min(1).max(100).describe('The labels that pass: some of `labels`'),
})

export const PythonGrader = z.strictObject({
  type: z.literal('python').describe('A program gives a number'),
  name: name.default('python'),
  ...pythonParameters,
  pass_threshold: z.number().nullish().describe('The least score that passes. Default 0.5'),
})

/** Names the types of a union by `type`. Undefined leaves a value that is no object to the usual message. */
export const unknownType = (types: readonly string[]) => ({
  error: ({ code, input: given }: { code?: string; input?: unknown }) => {
    if (code === 'invalid_type') return undefined
    const { type } = given as { type?: unknown }
    return type === undefined
      ? `is required: ${types.join(', ')}`
      : `${quoted(type)} is not supported: use ${types.join(', ')}`
  },
})

export const EvalCriterion = z.discriminatedUnion(
  'type',
  [StringCheck, TextSimilarity, ScoreModel, LabelModel, PythonGrader],
  unknownType(known),
)
export type EvalCriterion = z.output<typeof EvalCriterion>

export const EvalCriteria = z
  .array(EvalCriterion)
  .min(1)
  .max(10)
  .superRefine((criteria, context) => {
    const refuse = (path: PropertyKey[], message: string) => context.addIssue({ code: 'custom', path, message })
    const problem = sourcesProblem(criteria)
    if (problem !== null) refuse([], problem)
    criteria.forEach((each, index) => {
      if (criteria.findIndex((other) => other.name === each.name) !== index)
        refuse([index, 'name'], 'is the name of an earlier criterion: give one another name')
      if (each.type === 'label_model' && !each.passing_labels.every((passing) => each.labels.includes(passing)))
        refuse([index, 'passing_labels'], 'must be some of labels')
    })
  })

type Criterion =
  | EvalCriterion
  | (Omit<z.output<typeof TextSimilarity>, 'pass_threshold'> & { pass_threshold?: number | null | undefined })

/** @param criteria those of an eval or of a run, as they are stored */
export const gradersOf = (criteria: readonly StoredCriterion[]): ItemGrader[] =>
  (criteria as readonly EvalCriterion[]).map(graderOf)

export function graderOf(criterion: Criterion): ItemGrader {
  switch (criterion.type) {
    case 'string_check':
      return { ...checks[criterion.operation], template: textsOf(criterion), threshold: 1 }
    case 'text_similarity': {
      const threshold = criterion.pass_threshold ?? 0
      return { ...similarities[criterion.evaluation_metric], template: textsOf(criterion), threshold }
    }
    case 'score_model': {
      const range = criterion.range ?? [0, 1]
      const threshold = criterion.pass_threshold ?? (range[0] + range[1]) / 2
      return { ...judgeOf(criterion, criterion.sampling_params), verdict: { range }, threshold }
    }
    case 'label_model': {
      const { labels, passing_labels: passing } = criterion
      return { ...judgeOf(criterion), verdict: { labels, passing }, threshold: 1 }
    }
    case 'python': {
      const { type, name, source, image_tag, pass_threshold: threshold } = criterion
      return { type, name, source, ...(image_tag && { image_tag }), threshold: threshold ?? 0.5 }
    }
  }
}

const textsOf = ({ input, reference }: { input: string; reference: string }) => ({ output: input, expected: reference })

type Judge = Pick<Extract<EvalCriterion, { model: string }>, 'model' | 'input'>

function judgeOf({ model, input }: Judge, sampling?: z.output<typeof JudgeSampling> | null) {
  const { temperature, top_p, seed, max_completions_tokens: max_completion_tokens } = sampling ?? {}
  const fields = { temperature: temperature ?? 0, top_p, seed, max_completion_tokens }
  return { type: 'judge' as const, model, template: input, sampling: fields }
}
