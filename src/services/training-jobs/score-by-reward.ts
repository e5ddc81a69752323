// Scores of a reinforcement job's evaluation, by the grader that rewarded its answers.
import { textParts, type EvalSample } from '../../domain/eval-run.ts'
import type { Scores } from '../../domain/grader.ts'
import { rewardOfTask, type RewardTask } from '../../domain/reward-task.ts'
import type { EvaluationRow } from '../../domain/training-job.ts'
import { gradeSamples } from '../../grading/grade-samples.ts'
import type { RewardScoring } from '../../grading/reward.ts'

type Sides = { tuned: Scores[]; base: Scores[] }

/** Answers that are with a judge at once. */
const piece = 32

/** @throws ServiceError unavailable while a model that judges is away, and others */
export async function scoreByReward(
  scoring: RewardScoring,
  task: RewardTask,
  rows: readonly EvaluationRow[],
): Promise<Sides> {
  const scored = rows.flatMap(({ scores }) => scores ?? [])
  if (scored.length === rows.length)
    return { tuned: scored.map(({ tuned }) => tuned), base: scored.map(({ base }) => base) }
  return { tuned: await scoresOf(scoring, task, rows, 'tuned'), base: await scoresOf(scoring, task, rows, 'base') }
}

function sampleOf({ samples, ...row }: EvaluationRow, side: keyof Sides): EvalSample {
  const { output_text: text = row[side], ...parts } = samples?.[side] ?? {}
  return { ...textParts(text), ...parts }
}

async function scoresOf(
  scoring: RewardScoring,
  task: RewardTask,
  rows: readonly EvaluationRow[],
  side: keyof Sides,
): Promise<Scores[]> {
  const reward = rewardOfTask(task)
  const items = rows.map((row) => ({ item: row.item ?? {}, sample: sampleOf(row, side) }))
  const scores: Scores[] = []
  for (let start = 0; start < items.length; start += piece) {
    const { signal } = new AbortController()
    const grades = await gradeSamples(scoring, reward, items.slice(start, start + piece), signal)
    for (const grade of grades)
      scores.push(reward.formula === null ? { reward: grade.reward } : { ...grade.grades, reward: grade.reward })
  }
  return scores
}
