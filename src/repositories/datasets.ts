import type { Connection } from './database.ts'

export type DatasetVersion = {
  id: string
  accountId: string
  datasetId: string
  version: number
  uploadKey: string
  usedAt: Date | null
}

export const createDatasetRepository = (db: Connection) => ({
  newestVersion: (accountId: string, datasetId: string): Promise<DatasetVersion | null> =>
    db.datasetVersion.findFirst({ where: { accountId, datasetId }, orderBy: { version: 'desc' } }),

  findVersion: (accountId: string, id: string): Promise<DatasetVersion | null> =>
    db.datasetVersion.findFirst({ where: { accountId, id } }),

  /** @throws a unique violation when somebody opened this version first */
  createVersion: (version: Omit<DatasetVersion, 'usedAt'>): Promise<DatasetVersion> =>
    db.datasetVersion.create({ data: version }),

  /** From here on the version's id is closed: asking for the data set again opens a new one. */
  async markUsed(id: string) {
    await db.datasetVersion.updateMany({ where: { id, usedAt: null }, data: { usedAt: new Date() } })
  },
})
