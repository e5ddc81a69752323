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

  /** Published once; a repeat changes nothing. */
  async publish(model: Omit<TunedModel, 'createdAt'>) {
    await db.model.createMany({ data: [model], skipDuplicates: true })
  },
})

const plain = (row: Prisma.ModelGetPayload<object>): TunedModel => ({
  ...row,
  files: row.files as unknown as ArtifactFile[],
})
