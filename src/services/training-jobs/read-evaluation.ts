import type { Grader } from '../../domain/grader.ts'
import type { EvaluationRow } from '../../domain/training-job.ts'
import type { Database } from '../../repositories/database.ts'
import { wouldFailAgain, type EvaluationScores, type ScoredEvaluation } from './score-evaluation.ts'

export type ReadDependencies = {
  database: { artifacts: Pick<Database['artifacts'], 'listEvaluation' | 'rewardTask'> }
  evaluationScores: EvaluationScores
}

type EvaluatedModel = {
  accountId: string
  modelName: string
  artifactId: string
  graders: Grader[] | null
}

/**
 * Reads the answers of a tuned model and its base, with their scores.
 * @returns null for a model without an evaluation; `scored` is null when scoring takes too much time or memory
 */
export async function readEvaluation(
  { database, evaluationScores }: ReadDependencies,
  { graders, ...model }: EvaluatedModel,
): Promise<{ rows: EvaluationRow[]; scored: ScoredEvaluation | null } | null> {
  const rows = await database.artifacts.listEvaluation(model.artifactId)
  if (rows.length === 0) return null
  const task = rows[0]?.item ? await database.artifacts.rewardTask(model.artifactId) : null
  const scored = await evaluationScores(model, { rows, graders, task }).catch(nullIfLasting)
  return { rows, scored }
}

function nullIfLasting(error: unknown): null {
  if (wouldFailAgain(error)) return null
  throw error
}
