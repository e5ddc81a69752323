// Graders of items: a grader with templates, which are filled with an item and its sample, and a threshold. Criteria of evals
// and graders of fine-tuning are read as these.
import type { Grader, GraderOf } from './grader.ts'
import { textOf, type TemplateMessage } from './item-template.ts'

/** Compares the filled texts. */
type TextGrader = Exclude<Grader, GraderOf<'model' | 'python'>> & { template: { output: string; expected: string } }

/** A model that answers the filled conversation with a number of the range, or with one of the labels. */
export type ChatJudge = {
  type: 'judge'
  model: string
  template: TemplateMessage[]
  /** A passing label has the score 1, each other label 0. */
  verdict: { range: readonly [number, number] } | { labels: string[]; passing: string[] }
  /** Further fields of the chat. */
  sampling: object
}

/** A program of the user, which gets the whole item and its sample. */
type ProgramGrader = GraderOf<'python'>

/** `threshold`: the least score that passes. */
export type ItemGrader = (TextGrader | ChatJudge | ProgramGrader) & { threshold: number }

/** A reward is the formula of the scores of its graders. Without a formula it is the score of the only one. */
export type Reward = { graders: Record<string, ItemGrader>; formula: string | null }

/** Trainers compare rewards as 32-bit numbers. */
export const largestReward = 1e9

/** The texts of a grader, in which parts are named. */
export function templatesOf(grader: ItemGrader): string[] {
  if (grader.type === 'python') return ['{{item}}', '{{sample}}']
  return grader.type === 'judge' ? grader.template.map(textOf) : [grader.template.output, grader.template.expected]
}
