// Judges the items of a run and their samples by the criteria of its eval.
import type { CriterionResult, JudgedItem, StoredCriterion } from '../domain/eval-run.ts'
import type { ItemGrader } from '../domain/item-grader.ts'
import type { Sampled } from './eval-samples.ts'
import type { ChunkToFill } from './fill-templates.ts'
import type { Grading } from './grading-threads.ts'
import { scoreFilled, type Found, type Scoring } from './score.ts'

type Judging = Scoring & { grading: Pick<Grading, 'fillChunk'> }
/** `graders`: those that the criteria mean. */
type Chunk = Omit<ChunkToFill, 'from'> & { criteria: readonly StoredCriterion[]; graders: readonly ItemGrader[] }

/** An item without a sample has no results. @throws ServiceError and other errors of a model that judges */
export async function judgeItems(
  scoring: Judging,
  { criteria, graders, ...chunk }: Chunk,
  signal: AbortSignal,
): Promise<JudgedItem[]> {
  const judged: JudgedItem[] = []
  for (;;) {
    const from = judged.length
    const piece = await scoring.grading.fillChunk(scoring.accountId, { ...chunk, graders, from }, signal)
    const columns: Found[][] = []
    for (const [at, grader] of graders.entries()) {
      const filled = piece.columns[at] ?? []
      columns.push(await scoreFilled(scoring, { grader, filled, start: chunk.start + from }, signal))
    }
    const resultsOf = (item: number) =>
      criteria.map((criterion, at) => resultOf(criterion, graders[at] as ItemGrader, columns[at]?.[item] as Found))
    judged.push(...piece.samples.map((sampled, at) => judgedItem(sampled, resultsOf(at))))
    if (piece.isLast) return judged
  }
}

function judgedItem({ sample, error }: Sampled, found: CriterionResult[]): JudgedItem {
  const results = error === null ? found : []
  const scores = Object.fromEntries(results.map(({ name, score }) => [name, score]))
  return { output: sample?.output_text ?? null, error, sample, results, scores }
}

function resultOf({ name, type }: StoredCriterion, { threshold }: ItemGrader, found: Found): CriterionResult {
  if (found.score === null) return { name, type, score: null, error: found.error, passed: false }
  const { score, label } = found
  return { name, type, score, ...(label !== undefined && { label }), passed: score >= threshold }
}
