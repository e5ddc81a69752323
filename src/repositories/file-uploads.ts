import { Prisma } from '../../generated/prisma/client.ts'
import { uploadLimits, type FileUpload, type UploadPart } from '../domain/file-upload.ts'
import type { UploadPurpose } from '../domain/file-purpose.ts'
import type { Connection } from './connection.ts'

type NewUpload = Pick<FileUpload, 'id' | 'accountId' | 'fileName' | 'purpose' | 'sizeBytes' | 'lifeSeconds'>
type Row = Omit<FileUpload, 'sizeBytes' | 'purpose'> & { sizeBytes: bigint; purpose: string }

const life = Prisma.sql`${uploadLimits.lifeMs}::int * interval '1 millisecond'`
/** All by the database's clock. */
const isJoining = Prisma.sql`coalesce(joining_until > now(), false)`
const isInTime = Prisma.sql`(created_at > now() - ${life} or ${isJoining})`
const isOpen = Prisma.sql`completed_at is null and cancelled_at is null and ${isInTime}`
const claimEnd = Prisma.sql`now() + ${uploadLimits.joinClaimMs}::int * interval '1 millisecond'`
const columns = Prisma.sql`
  id, account_id as "accountId", file_name as "fileName", purpose, size_bytes as "sizeBytes",
  life_seconds as "lifeSeconds", file_id as "fileId", created_at as "createdAt", ${isJoining} as "isJoining",
  joining_version_id as "joiningVersionId", order_hash as "orderHash", order_md5 as "orderMd5",
  case when completed_at is not null then 'completed' when cancelled_at is not null then 'cancelled'
    when not ${isInTime} then 'expired' else 'pending' end as status`

export const createFileUploadRepository = (db: Connection) => ({
  async create(upload: NewUpload) {
    await db.fileUpload.create({ data: upload })
  },

  async openCount(accountId: string): Promise<number> {
    const [row] = await db.$queryRaw<{ count: number }[]>`
      select count(*)::int as count from file_uploads where account_id = ${accountId}::uuid and ${isOpen}`
    return row?.count ?? 0
  },

  async find(accountId: string, id: string): Promise<FileUpload | null> {
    const [row] = await db.$queryRaw<Row[]>`
      select ${columns} from file_uploads where id = ${id}::uuid and account_id = ${accountId}::uuid`
    return row ? plain(row) : null
  },

  /** Locks the upload until the transaction ends. @returns null when there is none */
  async hold(accountId: string, id: string): Promise<FileUpload | null> {
    const [row] = await db.$queryRaw<Row[]>`
      select ${columns} from file_uploads where id = ${id}::uuid and account_id = ${accountId}::uuid for update`
    return row ? plain(row) : null
  },

  /** How much the parts of an upload hold. */
  async held(uploadId: string): Promise<{ partCount: number; sizeBytes: number }> {
    const { _count, _sum } = await db.fileUploadPart.aggregate({
      where: { uploadId },
      _count: true,
      _sum: { sizeBytes: true },
    })
    return { partCount: _count, sizeBytes: Number(_sum.sizeBytes ?? 0) }
  },

  /** The part is the data set version with this id. */
  async addPart(uploadId: string, { id, sizeBytes }: Pick<UploadPart, 'id' | 'sizeBytes'>): Promise<Date> {
    const { createdAt } = await db.fileUploadPart.create({ data: { id, uploadId, sizeBytes } })
    return createdAt
  },

  async listParts(uploadId: string): Promise<UploadPart[]> {
    const rows = await db.fileUploadPart.findMany({
      where: { uploadId },
      include: { version: { select: { uploadKey: true } } },
      orderBy: { createdAt: 'asc' },
    })
    return rows.map(({ id, sizeBytes, createdAt, version }) => ({
      id,
      sizeBytes: Number(sizeBytes),
      createdAt,
      uploadKey: version.uploadKey,
    }))
  },

  /** Call it in a transaction that holds the upload. */
  async claimJoin(id: string, versionId: string) {
    await db.$executeRaw`
      update file_uploads set joining_version_id = ${versionId}::uuid, joining_until = ${claimEnd} where id = ${id}::uuid`
  },

  /** @returns false when the claim is lost: the upload has ended, or another request joins the parts */
  async renewJoin(id: string, versionId: string): Promise<boolean> {
    const count = await db.$executeRaw`
      update file_uploads set joining_until = ${claimEnd}
      where id = ${id}::uuid and joining_version_id = ${versionId}::uuid and ${isOpen}`
    return count === 1
  },

  async endJoin(id: string, versionId: string) {
    await db.$executeRaw`
      update file_uploads set joining_until = null where id = ${id}::uuid and joining_version_id = ${versionId}::uuid`
  },

  async noteMd5(id: string, { orderHash, orderMd5 }: Pick<FileUpload, 'orderHash' | 'orderMd5'>) {
    await db.fileUpload.updateMany({ where: { id }, data: { orderHash, orderMd5 } })
  },

  async complete(id: string, fileId: string) {
    await db.$executeRaw`update file_uploads set completed_at = now(), file_id = ${fileId} where id = ${id}::uuid`
  },

  async cancel(id: string) {
    await db.$executeRaw`update file_uploads set cancelled_at = now() where id = ${id}::uuid`
  },

  /** Uploads that take no further part and still hold some. */
  endedWithParts: (limit: number): Promise<{ id: string }[]> =>
    db.$queryRaw<{ id: string }[]>`
      select id from file_uploads upload where not (${isOpen})
        and exists (select from file_upload_parts part where part.upload_id = upload.id)
      limit ${limit}`,

  /** Uploads without parts that began before then. @returns the number of deleted rows */
  removeOld: (before: Date, limit: number): Promise<number> =>
    db.$executeRaw`
      delete from file_uploads where id in (
        select id from file_uploads upload where created_at < ${before}
          and not exists (select from file_upload_parts part where part.upload_id = upload.id)
        limit ${limit} for update skip locked)`,
})

const plain = ({ sizeBytes, purpose, ...row }: Row): FileUpload => ({
  ...row,
  sizeBytes: Number(sizeBytes),
  // Only uploads with such a purpose are created.
  purpose: purpose as UploadPurpose,
})
