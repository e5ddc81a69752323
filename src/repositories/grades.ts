import type { Prisma } from '../../generated/prisma/client.ts'
import type { Grade, RolloutSplit, SamplePlace } from '../domain/rollouts.ts'
import type { Connection } from './connection.ts'

export type GradedSample = SamplePlace & Grade
type StepOfJob = { jobId: number; split: RolloutSplit; step: number }

/** Scores of samples. The first score of a sample stays. */
export const createGradeRepository = (db: Connection) => ({
  async add({ jobId, split, step }: StepOfJob, graded: readonly GradedSample[]) {
    const data = graded.map(({ row, index, ...grade }) => ({
      ...{ jobId, split, step, row, index },
      grade: grade as unknown as Prisma.InputJsonValue,
    }))
    await db.grade.createMany({ data, skipDuplicates: true })
  },

  /** Those of these rows. */
  async list({ jobId, split, step }: StepOfJob, rows: readonly number[]): Promise<GradedSample[]> {
    const found = await db.grade.findMany({ where: { jobId, split, step, row: { in: [...new Set(rows)] } } })
    return found.map(({ row, index, grade }) => ({ row, index, ...(grade as unknown as Grade) }))
  },

  async deleteStep({ jobId, split, step }: StepOfJob) {
    await db.grade.deleteMany({ where: { jobId, split, step } })
  },
})
