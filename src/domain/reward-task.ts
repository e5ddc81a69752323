// What a reinforcement job asks of its answers: the grader that rewards them, and the form that they have.
import type { z } from 'zod'
import { FineTuningGrader, rewardOf } from './fine-tuning-grader.ts'
import { FormulaError, uselessFormula } from './formula.ts'
import { templatesOf } from './item-grader.ts'
import { referencesIn } from './item-template.ts'
import { ResponseFormat } from './response-format.ts'

/** Room for a program and some conversations. */
const maxGraderLength = 524_288

type Multi = Extract<FineTuningGrader, { type: 'multi' }>

/** A reward that is the same for every answer, or never a number, teaches nothing. */
function uselessReward({ calculate_output: formula, graders }: Multi): string | null {
  const bounds = Object.values(graders).flatMap((each) => (each.type === 'score_model' ? (each.range ?? []) : []))
  const middles = bounds.length > 0 ? [(Math.min(...bounds) + Math.max(...bounds)) / 2] : []
  try {
    return uselessFormula(formula, Object.keys(graders), [...bounds, ...middles])
  } catch (error) {
    // The grader's own schema tells what the formula's text has wrong.
    if (error instanceof FormulaError) return null
    throw error
  }
}

export const RewardGrader = FineTuningGrader.refine((grader) => JSON.stringify(grader).length <= maxGraderLength, {
  error: `must not be longer than ${maxGraderLength} characters as JSON`,
}).superRefine((grader, context) => {
  const message = grader.type === 'multi' ? uselessReward(grader) : null
  if (message !== null) context.addIssue({ code: 'custom', path: ['calculate_output'], message })
})

/** Trainers read it with their assignment. */
export const maxGrammarCharacters = 262_144

/** Parts of `method.reinforcement` beside its hyperparameters. */
export const rewardFields = {
  grader: RewardGrader.nullish().describe('What the answers are rewarded by. Required'),
  response_format: ResponseFormat.nullish().describe('The form that sampled answers have'),
}

/** Frozen with the job, as the request wrote it; judges are those that their names meant then. */
export type RewardTask = {
  grader: FineTuningGrader
  /** Set for structured answers. */
  response_format?: ResponseFormat
  /** The form, as model servers and trainers read it. */
  grammar?: string
}

export type SentTask = z.output<z.ZodObject<typeof rewardFields>>

/** Grader names of series and grades hold letters, digits and _ only. The name of a single grader may be any text. */
export const seriesName = (name: string) => name.replaceAll(/\W/g, '_')

/** The reward of a task, with names as trainers and series know its graders. */
export function rewardOfTask({ grader }: Pick<RewardTask, 'grader'>) {
  const { graders, formula } = rewardOf(grader)
  return {
    graders: Object.fromEntries(Object.entries(graders).map(([name, each]) => [seriesName(name), each])),
    formula,
  }
}

/** A part of a row's item that a grader reads. */
export type ItemNeed = { grader: string; name: string }

/** Each part once for each grader. */
export function itemNeedsOf(task: Pick<RewardTask, 'grader'>): ItemNeed[] {
  const { graders } = rewardOf(task.grader)
  return Object.entries(graders).flatMap(([grader, each]) => {
    const names = new Set(templatesOf(each).flatMap(referencesIn))
    return [...names].filter((name) => /^item\b/.test(name)).map((name) => ({ grader, name }))
  })
}

const partsOfSample = [
  ['text', /^sample$|^sample\.output_(text|json)\b/],
  ['tool_calls', /^sample$|^sample\.output_tools\b/],
] as const

/** For trainers: the names of the graders, and what they read of a sample and its item. */
export function graderForTrainer(task: Pick<RewardTask, 'grader'>) {
  const { graders } = rewardOfTask(task)
  const names = Object.values(graders).flatMap((each) => templatesOf(each).flatMap(referencesIn))
  const ofSample = partsOfSample.flatMap(([part, named]) => (names.some((name) => named.test(name)) ? [part] : []))
  const ofItem = new Set(itemNeedsOf(task).map(({ name }) => name))
  return { names: Object.keys(graders), needs: [...ofSample, ...ofItem] }
}
