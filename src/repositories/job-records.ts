// Reads whole jobs for an export.
import type { Prisma } from '../../generated/prisma/client.ts'
import { hiddenDatasets } from './dataset-statements.ts'
import type { Connection } from './connection.ts'

const rowsAtOnce = 1000

export const createJobRecordRepository = (db: Connection) => ({
  /** The job with what its own row does not have: the model, its artifact and version. */
  async read(accountId: string, id: number) {
    const job = await db.trainingJob.findFirst({ where: { id, accountId } })
    if (!job) return null
    const model =
      job.modelName === null
        ? null
        : await db.model.findUnique({
            where: { name: job.modelName },
            include: { artifact: { select: { step: true, attempt: true } }, version: { select: { version: true } } },
          })
    return { job, model }
  },

  /** The data sets of these versions, but for deleted ones. */
  async versions(accountId: string, ids: string[]): Promise<Map<string, { datasetId: string; version: number }>> {
    const rows = await db.datasetVersion.findMany({
      where: { accountId, id: { in: ids }, datasetId: { not: { startsWith: hiddenDatasets } } },
      select: { id: true, datasetId: true, version: true },
    })
    return new Map(rows.map(({ id, ...rest }) => [id, rest]))
  },

  /** The data set whose rows have this key; null where it was deleted. */
  versionOfKey: (accountId: string, uploadKey: string): Promise<{ datasetId: string; version: number } | null> =>
    db.datasetVersion.findFirst({
      where: { accountId, uploadKey, datasetId: { not: { startsWith: hiddenDatasets } } },
      select: { datasetId: true, version: true },
    }),

  attempts: (jobId: number) => db.attempt.findMany({ where: { jobId }, orderBy: { number: 'asc' } }),

  steps: (jobId: number) =>
    pages((last: { step: number } | undefined) =>
      db.trainingStep.findMany({
        where: { jobId, step: { gt: last?.step ?? -1 } },
        orderBy: { step: 'asc' },
        take: rowsAtOnce,
      }),
    ),

  events: (jobId: number) =>
    pages((last: { id: bigint } | undefined) =>
      db.jobEvent.findMany({ where: { jobId, id: { gt: last?.id ?? 0 } }, orderBy: { id: 'asc' }, take: rowsAtOnce }),
    ),

  evaluation: (artifactId: string) =>
    pages((last: { index: number } | undefined) =>
      db.evaluation.findMany({
        where: { artifactId, index: { gt: last?.index ?? -1 } },
        orderBy: { index: 'asc' },
        take: rowsAtOnce,
      }),
    ),

  /** A version of the account's data set by its number. */
  version: (accountId: string, datasetId: string, version: number) =>
    db.datasetVersion.findUnique({ where: { accountId_datasetId_version: { accountId, datasetId, version } } }),
})

export type JobRow = Prisma.TrainingJobGetPayload<object>

async function* pages<T>(read: (last: T | undefined) => Promise<T[]>): AsyncGenerator<T[]> {
  for (let last: T | undefined; ;) {
    const page = await read(last)
    if (page.length > 0) yield page
    if (page.length < rowsAtOnce) return
    last = page.at(-1)
  }
}
