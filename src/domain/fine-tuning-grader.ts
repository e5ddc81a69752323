// Graders of fine-tuning in OpenAI's words, and the rewards that they mean.
import { z } from 'zod'
import { FormulaError, parseFormula } from './formula.ts'
import { largestReward, type Reward } from './item-grader.ts'
import { sourcesProblem } from './python-grader.ts'
import { withoutPrototype } from './without-prototype.ts'
import {
  graderOf,
  LabelModel,
  PythonGrader,
  ScoreModel,
  StringCheck,
  TextSimilarity,
  unknownType,
} from './eval-criteria.ts'

const maxGraders = 10
const known = ['string_check', 'text_similarity', 'score_model', 'label_model', 'python', 'multi'] as const
const GraderKey = z
  .string()
  .regex(/^[A-Za-z_]\w{0,63}$/, 'must be a name of letters, digits and _ that begins with a letter')

const singles = [
  StringCheck,
  TextSimilarity.extend({ pass_threshold: z.number().nullish().describe('Accepted; a reward has no threshold') }),
  ScoreModel,
  LabelModel,
  PythonGrader.extend({ pass_threshold: z.number().nullish().describe('Accepted; a reward has no threshold') }),
] as const
const SingleGrader = z.discriminatedUnion('type', singles, unknownType(known.slice(0, -1)))

const MultiGrader = z.strictObject({
  type: z.literal('multi').describe('Combines the rewards of other graders'),
  name: z.string().min(1).max(64).default('multi').describe('The name of the grader'),
  graders: withoutPrototype(
    z
      .record(GraderKey, SingleGrader)
      .refine((graders) => Object.keys(graders).length > 0, { error: 'must hold at least one grader' })
      .refine((graders) => Object.keys(graders).length <= maxGraders, {
        error: `must hold at most ${maxGraders} graders`,
      }),
  ).describe('The graders, by the names that the formula uses'),
  calculate_output: z
    .string()
    .min(1)
    .max(1000)
    .describe('A formula of their rewards: + - * / ^, brackets, min, max, abs, floor, ceil, exp, sqrt and log'),
})

/** The grader of a request. */
export const FineTuningGrader = z
  .discriminatedUnion('type', [...singles, MultiGrader], unknownType(known))
  .superRefine((grader, context) => {
    const refuse = (path: PropertyKey[], message: string) => context.addIssue({ code: 'custom', path, message })
    const placed = grader.type === 'multi' ? Object.entries(grader.graders) : [['', grader] as const]
    for (const [name, single] of placed) {
      const at = name === '' ? [] : ['graders', name]
      if (single.type === 'label_model' && !single.passing_labels.every((each) => single.labels.includes(each)))
        refuse([...at, 'passing_labels'], 'must be some of labels')
      if (single.type === 'score_model' && single.range?.some((bound) => Math.abs(bound) > largestReward))
        refuse([...at, 'range'], `must be within -${largestReward} and ${largestReward}: no reward is larger`)
    }
    const sources = sourcesProblem(placed.map(([, single]) => single))
    if (sources !== null) refuse([], sources)
    if (grader.type === 'multi') {
      const problem = formulaProblem(grader.calculate_output, Object.keys(grader.graders))
      if (problem !== null) refuse(['calculate_output'], problem)
    }
  })
export type FineTuningGrader = z.output<typeof FineTuningGrader>

function formulaProblem(text: string, names: string[]): string | null {
  try {
    parseFormula(text, names)
    return null
  } catch (error) {
    if (error instanceof FormulaError) return error.message
    throw error
  }
}

export const rewardOf = (grader: FineTuningGrader): Reward =>
  grader.type === 'multi'
    ? {
        graders: Object.fromEntries(Object.entries(grader.graders).map(([name, single]) => [name, graderOf(single)])),
        formula: grader.calculate_output,
      }
    : { graders: { [grader.name]: graderOf(grader) }, formula: null }
