import type { Prisma } from '../../generated/prisma/client.ts'
import type { ArtifactFile, TunedModel } from '../domain/training-job.ts'
import type { Connection } from './database.ts'

export const createModelRepository = (db: Connection) => ({
  async find(accountId: string, name: string): Promise<TunedModel | null> {
    const row = await db.model.findFirst({ where: { name, accountId } })
    return row && plain(row)
  },

  /** Newest first. */
  async list(accountId: string, limit: number): Promise<TunedModel[]> {
    const rows = await db.model.findMany({
      where: { accountId },
      orderBy: [{ createdAt: 'desc' }, { name: 'desc' }],
      take: limit,
    })
    return rows.map(plain)
  },

  /** The model, what it was made from, and what that answered; its job then has no model. @returns false when it is gone */
  async delete({
    accountId,
    name,
    artifactId,
  }: Pick<TunedModel, 'accountId' | 'name' | 'artifactId'>): Promise<boolean> {
    const { count } = await db.model.deleteMany({ where: { accountId, name } })
    if (count === 0) return false
    await db.trainingJob.updateMany({ where: { modelName: name }, data: { modelName: null } })
    await db.evaluation.deleteMany({ where: { artifactId } })
    await db.artifact.deleteMany({ where: { id: artifactId } })
    return true
  },

  /** Published once; a repeat changes nothing. */
  async publish(model: Omit<TunedModel, 'createdAt'>) {
    await db.model.createMany({ data: [model], skipDuplicates: true })
  },
})

const plain = (row: Prisma.ModelGetPayload<object>): TunedModel => ({
  ...row,
  files: row.files as unknown as ArtifactFile[],
})
