import { graderName, type Grader, type Scores } from '../../domain/grader.ts'
import type { Comparison, GraderSummary } from '../../domain/model-evaluation.ts'
import { ServiceError } from '../../domain/service-error.ts'
import type { EvaluationRow } from '../../domain/training-job.ts'
import { defaultGraders } from '../../grading/default-graders.ts'
import type { Grade } from '../../grading/grading-threads.ts'
import { compare, summarise } from '../../grading/summarise.ts'
import { neededTooMuchMemory } from '../../worker-thread-pool.ts'

/** Rows beyond these have no scores: their answers are shown, and the figures are about the first rows. */
const maxScoredRows = 2000

/** By grader; null where no row has a score. */
type JobSummary = Record<string, (Comparison & Record<'tuned' | 'base', GraderSummary>) | null>

/** `tuned`, `base`: the scores of each row, as far as rows are scored. */
export type ScoredEvaluation = { graders: Grader[]; tuned: Scores[]; base: Scores[]; summary: JobSummary }

/**
 * Scores the answers of a job's model and its base.
 * @throws ServiceError invalid_input when the graders take too long
 */
async function scoreEvaluation(
  grade: Grade,
  accountId: string,
  { rows: all, graders: wanted }: { rows: readonly EvaluationRow[]; graders: Grader[] | null },
): Promise<ScoredEvaluation> {
  const rows = all.slice(0, maxScoredRows)
  const graders = wanted ?? defaultGraders(rows.map(({ expected }) => expected))
  const names = graders.map(graderName)
  const scoresOf = async (side: 'tuned' | 'base'): Promise<Scores[]> => {
    const graded = rows.map(({ input, expected, [side]: output }) => ({ input, expected, output }))
    const columns = await grade(accountId, { graders, graded })
    return rows.map((_, row) => Object.fromEntries(names.map((name, at) => [name, columns[at]?.[row] ?? null])))
  }
  const [tuned, base] = [await scoresOf('tuned'), await scoresOf('base')]
  return { graders, tuned, base, summary: Object.fromEntries(names.map((name) => [name, figures(name, tuned, base)])) }
}

function figures(grader: string, tuned: readonly Scores[], base: readonly Scores[]): JobSummary[string] {
  const [ours, theirs] = [summarise(grader, tuned), summarise(grader, base)]
  const comparison = compare(grader, tuned, base)
  return ours && theirs && comparison && { tuned: ours, base: theirs, ...comparison }
}

/** Results of one process, lasting failures included: a model's answers never change, and scoring may take minutes. */
const maxKept = 100

export function createEvaluationScores(grade: Grade) {
  /** In the order of the latest use. */
  const kept = new Map<string, Promise<ScoredEvaluation>>()
  return async (
    { accountId, modelName }: { accountId: string; modelName: string },
    evaluation: { rows: readonly EvaluationRow[]; graders: Grader[] | null },
  ): Promise<ScoredEvaluation> => {
    const scored = kept.get(modelName) ?? scoreEvaluation(grade, accountId, evaluation)
    kept.delete(modelName)
    kept.set(modelName, scored)
    scored.catch((error: unknown) => {
      if (!wouldFailAgain(error) && kept.get(modelName) === scored) kept.delete(modelName)
    })
    for (const oldest of kept.keys()) if (kept.size > maxKept) kept.delete(oldest)
    return scored
  }
}

/** Whether a repeat would take the account's thread again and fail in the same way. */
const wouldFailAgain = (error: unknown) =>
  (error instanceof ServiceError && error.code === 'invalid_input') || neededTooMuchMemory(error)

export type EvaluationScores = ReturnType<typeof createEvaluationScores>
