import { Prisma } from '../../generated/prisma/client.ts'
import type { Columns, DatasetReport, ListedDataset, ListedVersion } from '../domain/dataset-report.ts'
import type { FilePurpose } from '../domain/file-purpose.ts'
import type { Connection } from './connection.ts'
import { hiddenDatasets, isAmongSources, listDatasets, listVersions } from './dataset-statements.ts'
import type { RunStatement, Statement } from './prepared-sql.ts'

export type DatasetVersion = {
  id: string
  accountId: string
  datasetId: string
  version: number
  uploadKey: string
  usedAt: Date | null
  announcedRows: number | null
}

/** `wasSeen`: a job, a check or a request with rows has found the bytes. */
export type FoundVersion = DatasetVersion & { wasSeen: boolean }

/** A data set that was uploaded as a file through the OpenAI API. */
export type DatasetFile = Pick<DatasetVersion, 'id' | 'datasetId' | 'uploadKey'> & {
  fileName: string
  purpose: FilePurpose
  sizeBytes: number
  createdAt: Date
  expiresAt: Date | null
}

/** The clock of this process: the hour of the sweep that removes the file matters more. */
const notExpired = () => ({ OR: [{ expiresAt: null }, { expiresAt: { gt: new Date() } }] })
const notHidden = { datasetId: { not: { startsWith: hiddenDatasets } } }

const isOfSeveral = Prisma.raw(isAmongSources('job', 'version.id'))

type FilePage = { after: string | null; limit: number; isOldestFirst: boolean; purpose?: FilePurpose | null }

type Upload = Pick<DatasetVersion, 'id' | 'uploadKey'>
/** `uploadBytes`: what the object will have, to count it from now on. */
type NewDatasetVersion = Pick<DatasetVersion, 'id' | 'accountId' | 'datasetId' | 'version' | 'uploadKey'> & {
  uploadBytes?: number
}

/** Prisma unpacks the rows of 10,000 files for a tenth of a second, during which the process answers nobody. */
const filesAtOnce = 1000

export const createDatasetRepository = (db: Connection, run: RunStatement) => ({
  async newestVersion(accountId: string, datasetId: string): Promise<FoundVersion | null> {
    const [version] = await run<FoundVersion>(newestVersion, [accountId, datasetId])
    return version ?? null
  },

  async findVersion(accountId: string, id: string): Promise<FoundVersion | null> {
    const [version] = await run<FoundVersion>(findVersion, [accountId, id])
    return version ?? null
  },

  /** Returns the ids that exist and are not hidden. */
  async known(ids: string[]): Promise<Set<string>> {
    const where = { id: { in: [...new Set(ids)] }, ...notHidden }
    const versions = await db.datasetVersion.findMany({ where, select: { id: true } })
    return new Set(versions.map(({ id }) => id))
  },

  /** @throws a unique violation when the version number exists */
  createVersion: (version: NewDatasetVersion): Promise<DatasetVersion> => db.datasetVersion.create({ data: version }),

  /** Makes received rows the newest version of a data set. @throws a unique violation when that version exists */
  async keep(
    id: string,
    {
      datasetId,
      isPublic,
      sizeBytes,
      fileName,
      purpose,
      lifeSeconds,
    }: {
      datasetId: string | undefined
      isPublic: boolean
      sizeBytes: number
      fileName?: string | undefined
      purpose?: FilePurpose | undefined
      lifeSeconds?: number | undefined
    },
  ): Promise<DatasetVersion> {
    const select = { accountId: true, createdAt: true }
    const { accountId, createdAt } = await db.datasetVersion.findUniqueOrThrow({ where: { id }, select })
    const expiresAt = lifeSeconds === undefined ? null : new Date(createdAt.getTime() + lifeSeconds * 1000)
    const data = { isPublic, sizeBytes, fileName: fileName ?? null, purpose: purpose ?? null, expiresAt }
    if (datasetId === undefined) return db.datasetVersion.update({ where: { id }, data })
    const newest = await this.newestVersion(accountId, datasetId)
    return db.datasetVersion.update({
      where: { id },
      data: { ...data, datasetId, version: (newest?.version ?? 0) + 1 },
    })
  },

  /** Lists data sets by id, after the one named. */
  list: (accountId: string, { after, limit }: { after: string | null; limit: number }): Promise<ListedDataset[]> =>
    run<ListedDataset>(listDatasets, [accountId, after, limit]),

  /** Lists the versions of a data set, the newest first, after the one named. */
  listVersions: (
    accountId: string,
    { datasetId, after, limit }: { datasetId: string; after: number | null; limit: number },
  ): Promise<ListedVersion[]> => run<ListedVersion>(listVersions, [accountId, datasetId, after, limit]),

  async findFile(accountId: string, datasetId: string): Promise<DatasetFile | null> {
    const row = await db.datasetVersion.findFirst({
      where: { accountId, datasetId, fileName: { not: null }, ...notExpired() },
    })
    return row && fileOf(row)
  },

  /** `after` is the id of a file of the account. */
  async listFiles(
    accountId: string,
    { after, limit, isOldestFirst, purpose = null }: FilePage,
  ): Promise<DatasetFile[]> {
    const direction = isOldestFirst ? 'asc' : 'desc'
    const orderBy = [{ createdAt: direction }, { id: direction }] as const
    const listed = await db.datasetVersion.findMany({
      where: {
        accountId,
        fileName: { not: null },
        ...notHidden,
        ...notExpired(),
        ...(purpose !== null && { purpose: purpose === 'fine-tune' ? null : purpose }),
      },
      orderBy: [...orderBy],
      take: limit,
      select: { id: true },
      ...(after === null ? {} : { cursor: { id: after }, skip: 1 }),
    })
    const files: DatasetFile[] = []
    for (let start = 0; start < listed.length; start += filesAtOnce) {
      const ids = listed.slice(start, start + filesAtOnce).map(({ id }) => id)
      const rows = await db.datasetVersion.findMany({ where: { id: { in: ids } }, orderBy: [...orderBy] })
      for (const row of rows) files.push(fileOf(row))
    }
    return files
  },

  /** Counts received bytes that are only a part of a file. No list shows them. */
  async holdPart(id: string, sizeBytes: number) {
    await db.datasetVersion.update({ where: { id }, data: { datasetId: hiddenDatasets + id, uploadBytes: sizeBytes } })
  },

  /** Stores the row count that a client announces. */
  async recordRowCount(id: string, announcedRows: number) {
    await db.datasetVersion.update({ where: { id }, data: { announcedRows } })
  },

  /** Stores the size of an upload that was found. Retention leaves it alone from then on, until the size is null again. */
  async noteSize(id: string, sizeBytes: number | null) {
    await db.datasetVersion.updateMany({ where: { id, ...notHidden }, data: { sizeBytes } })
  },

  /** Lists an account's uploads by URL of the last day, first those whose size was measured longest ago. */
  recentUploads: (accountId: string, limit: number): Promise<Upload[]> =>
    db.$queryRaw<Upload[]>`
      select id, upload_key as "uploadKey" from dataset_versions
      where account_id = ${accountId}::uuid and created_at > now() - interval '1 day'
        and upload_key like 'uploads/%' and dataset_id not like ${hiddenDatasets + '%'}
      order by measured_at nulls first limit ${limit}`,

  /** Lists uploads of the last two days whose URLs have expired since their size was last measured. */
  unmeasuredUploads: (limit: number): Promise<Upload[]> =>
    db.$queryRaw<Upload[]>`
      select id, upload_key as "uploadKey" from dataset_versions
      where created_at between now() - interval '2 days' and now() - interval '3 hours'
        and upload_key like 'uploads/%' and dataset_id not like ${hiddenDatasets + '%'}
        and (measured_at is null or measured_at < created_at + interval '3 hours')
      limit ${limit}`,

  /** Counts the bytes under an upload's key. A URL can overwrite them until it expires, also when a job has used them. */
  async measure(id: string, uploadBytes: number) {
    await db.$executeRaw`
      update dataset_versions set upload_bytes = ${uploadBytes}, measured_at = now() where id = ${id}::uuid`
  },

  async report(id: string): Promise<DatasetReport | null> {
    const version = await db.datasetVersion.findUnique({ where: { id }, select: { report: true } })
    return (version?.report ?? null) as DatasetReport | null
  },

  /** The columns that are read; null where the names of the fields say what they hold. */
  async columns(id: string): Promise<Columns | null> {
    const version = await db.datasetVersion.findUnique({ where: { id }, select: { columns: true } })
    return (version?.columns ?? null) as Columns | null
  },

  async setColumns(id: string, columns: Columns | null) {
    await db.datasetVersion.updateMany({ where: { id, ...notHidden }, data: { columns: columns ?? Prisma.DbNull } })
  },

  async saveReport(id: string, report: DatasetReport) {
    await db.datasetVersion.updateMany({ where: { id }, data: { report } })
  },

  /** @returns false when the version is gone or a job uses it */
  async removeUnused(id: string): Promise<boolean> {
    const { count } = await db.datasetVersion.deleteMany({ where: { id, usedAt: null } })
    return count === 1
  },

  /** Lists versions created before `before` without a job, a size or an announced row count, oldest first. */
  abandoned: (before: Date, limit: number): Promise<Pick<DatasetVersion, 'id' | 'uploadKey'>[]> =>
    db.datasetVersion.findMany({
      where: { usedAt: null, createdAt: { lt: before }, sizeBytes: null, announcedRows: null },
      orderBy: { createdAt: 'asc' },
      take: limit,
      select: { id: true, uploadKey: true },
    }),

  /** Lists expired files that no open job still has to copy. */
  expired: (limit: number): Promise<Upload[]> =>
    db.$queryRaw<Upload[]>`
      select id, upload_key as "uploadKey" from dataset_versions version
      where expires_at <= now() and dataset_id not like ${hiddenDatasets + '%'} and not exists (
        select from training_jobs job where job.dataset_version_id = version.id
          and job.prepared_data is null and job.finished_at is null)
        and not exists (
          select from training_jobs job where ${isOfSeveral}
            and job.prepared_data is null and job.finished_at is null)
      limit ${limit}`,

  /** Locks all versions: no job is accepted on them until the transaction ends. */
  holdVersions: (accountId: string, datasetId: string): Promise<Pick<DatasetVersion, 'id' | 'uploadKey'>[]> =>
    db.$queryRaw`
      select id, upload_key as "uploadKey" from dataset_versions
      where account_id = ${accountId}::uuid and dataset_id = ${datasetId} order by version for update`,

  /** Makes a version unreachable for users. The row stays, because jobs may refer to it. */
  async hide(id: string) {
    await db.datasetVersion.updateMany({
      where: { id },
      data: {
        datasetId: hiddenDatasets + id,
        report: Prisma.DbNull,
        columns: Prisma.DbNull,
        announcedRows: null,
        sizeBytes: null,
        uploadBytes: null,
      },
    })
  },

  /** Finds an open job that has not copied the rows of one of these versions. */
  async unpreparedJob(versionIds: string[]): Promise<number | null> {
    const [job] = await db.$queryRaw<{ id: number }[]>`
      select job.id from unnest(${versionIds}::uuid[]) version (id) join training_jobs job
        on job.dataset_version_id = version.id or ${isOfSeveral}
      where job.prepared_data is null and job.finished_at is null limit 1`
    return job?.id ?? null
  },
})

function fileOf(row: Prisma.DatasetVersionGetPayload<object>): DatasetFile {
  const { id, datasetId, uploadKey, createdAt, expiresAt } = row
  const purpose = (row.purpose ?? 'fine-tune') as FilePurpose
  const [fileName, sizeBytes] = [row.fileName ?? '', Number(row.sizeBytes ?? 0)]
  return { id, datasetId, uploadKey, fileName, purpose, sizeBytes, createdAt, expiresAt }
}

const columns = `id, account_id as "accountId", dataset_id as "datasetId", version, upload_key as "uploadKey",
  used_at as "usedAt", announced_rows as "announcedRows",
  (used_at is not null or size_bytes is not null) as "wasSeen"`

const newestVersion: Statement = {
  name: 'newest-version',
  text: `
    select ${columns} from dataset_versions where account_id = $1::uuid and dataset_id = $2::text
    order by version desc limit 1`,
}

const findVersion: Statement = {
  name: 'find-version',
  text: `
    select ${columns} from dataset_versions
    where id = $2::uuid and account_id = $1::uuid and dataset_id not like '${hiddenDatasets}%'`,
}
