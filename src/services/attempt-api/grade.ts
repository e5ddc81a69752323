// Grades the samples of a reinforcement step. A sample is graded once: a repeat of the call gets the stored grade.
import { rewardOfTask } from '../../domain/reward-task.ts'
import { rolloutFiles, type RolloutSplit, type SamplePlace } from '../../domain/rollouts.ts'
import { ServiceError } from '../../domain/service-error.ts'
import type { Scoring } from '../../grading/score.ts'
import type { GradedSample } from '../../repositories/grades.ts'
import type { PodCtx } from '../context.ts'
import { fencedWrite } from './fenced-write.ts'
import { createGradingWork, type SampleToGrade } from './grading-work.ts'

/** An answer that is not complete by then lists the samples that wait. */
const waitMs = 20_000

type GradeInput = { step: number; split: RolloutSplit; samples: readonly SampleToGrade[] }
type Asker = { deps: PodCtx['deps']; accountId: string; apiKeyId: string }
type Graded = { graded: GradedSample[]; waiting: SamplePlace[]; waitingFor: string | null }

const work = createGradingWork()

/** Samples of the account that are at its graders, in this process. */
export const samplesAtGraders = (accountId: string) => work.samplesOf(accountId)

/** @throws ServiceError attempt_fenced, conflict for samples that are not committed */
export async function gradeSamplesOfStep({
  pod,
  input: { step, split, samples },
  askOf,
}: {
  pod: PodCtx
  input: GradeInput
  askOf: (asker: Asker) => NonNullable<Scoring['ask']>
}): Promise<Graded> {
  const { task, stepOfJob, asker, stored, baseModel } = await open(pod, { step, split, samples })
  const missing = without(samples, stored)
  const wait =
    missing.length === 0
      ? null
      : await work.grade(
          { ctx: asker, stepOfJob, baseModel, ask: askOf(asker), reward: rewardOfTask(task) },
          missing,
          waitMs,
        )
  const rows = samples.map(({ row }) => row)
  const found = missing.length === 0 ? stored : await fencedWrite(pod, (tx) => tx.grades.list(stepOfJob, rows))
  const waiting = without(samples, found).map(({ row, index }) => ({ row, index }))
  const graded = found.filter((each) => samples.some((sample) => isSame(each, sample)))
  return { graded, waiting, waitingFor: waiting.length === 0 ? null : wait }
}

/** Finds the task of the attempt's job, and the grades that are stored. The attempt counts as heard. */
const open = (pod: PodCtx, { step, split, samples }: GradeInput) =>
  fencedWrite(pod, async (tx, { jobId, number }) => {
    const { spec, accountId, baseModel } = await tx.trainingJobs.get(jobId)
    const task = spec.method?.task
    if (!task) throw new ServiceError('conflict', 'This job has no grader: it is not trained by reinforcement.')
    const name = rolloutFiles[split].samples
    // Other samples could take the place of ones that are not committed, and would get their grades.
    if (!(await tx.artifacts.hasRollouts({ jobId, step, name })))
      throw new ServiceError('conflict', `Commit ${name} of step ${step} before its samples are graded.`)
    await tx.attempts.update({ jobId, number }, {})
    const stepOfJob = { jobId, split, step }
    const rows = samples.map(({ row }) => row)
    const stored = await tx.grades.list(stepOfJob, rows)
    const asker = { deps: pod.deps, accountId, apiKeyId: await tx.trainingJobs.apiKeyOf(jobId) }
    return { task, stepOfJob, asker, stored, baseModel }
  })

const isSame = (a: SamplePlace, b: SamplePlace) => a.row === b.row && a.index === b.index

const without = <T extends SamplePlace>(samples: readonly T[], known: readonly SamplePlace[]): T[] =>
  samples.filter((sample) => !known.some((each) => isSame(each, sample)))
