import { Prisma } from '../../generated/prisma/client.ts'
import type { Grade, RolloutSplit, SamplePlace } from '../domain/rollouts.ts'
import type { Connection } from './connection.ts'

export type GradedSample = SamplePlace & Grade
type StepOfJob = { jobId: number; split: RolloutSplit; step: number }

/** Scores of samples. The first score of a sample stays. */
export const createGradeRepository = (db: Connection) => ({
  /** @returns the number of samples that had no score */
  async add({ jobId, split, step }: StepOfJob, graded: readonly GradedSample[]): Promise<number> {
    const data = graded.map(({ row, index, ...grade }) => ({
      ...{ jobId, split, step, row, index },
      grade: grade as unknown as Prisma.InputJsonValue,
    }))
    return (await db.grade.createMany({ data, skipDuplicates: true })).count
  },

  /** Those of these rows. */
  async list({ jobId, split, step }: StepOfJob, rows: readonly number[]): Promise<GradedSample[]> {
    const found = await db.grade.findMany({ where: { jobId, split, step, row: { in: [...new Set(rows)] } } })
    return found.map(({ row, index, grade }) => ({ row, index, ...(grade as unknown as Grade) }))
  },

  /** A resume asks for them again. */
  async deleteUnscored(jobId: number) {
    await db.grade.deleteMany({ where: { jobId, grade: { path: ['reward'], equals: Prisma.AnyNull } } })
  },

  async deleteStep({ jobId, split, step }: StepOfJob) {
    await db.grade.deleteMany({ where: { jobId, split, step } })
  },
})
