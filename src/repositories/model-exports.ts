import type { Prisma } from '../../generated/prisma/client.ts'
import type { ExportedFile, ExportStatus, MergeRequest, ModelExport } from '../domain/model-export.ts'
import type { Connection } from './connection.ts'

type NewExport = Pick<ModelExport, 'id' | 'accountId' | 'modelName' | 'request'>
type Run = { id: string; number: number }

const open = { finishedAt: null }

export const createModelExportRepository = (db: Connection) => ({
  async create({ request, ...row }: NewExport) {
    await db.modelExport.create({
      data: { ...row, request: request as unknown as Prisma.JsonObject, status: 'QUEUED' },
    })
  },

  async find(accountId: string, id: string): Promise<ModelExport | null> {
    const row = await db.modelExport.findFirst({ where: { id, accountId } })
    return row && plain(row)
  },

  /** The one export of the model that is open or complete. */
  async findUsable(accountId: string, modelName: string): Promise<ModelExport | null> {
    const row = await db.modelExport.findFirst({ where: { accountId, modelName, status: { not: 'FAILED' } } })
    return row && plain(row)
  },

  /** For workers: finds an export of any account. Null after its account was deleted. */
  async get(id: string): Promise<ModelExport | null> {
    const row = await db.modelExport.findUnique({ where: { id } })
    return row && plain(row)
  },

  /** As `get`, locked until the transaction ends. */
  async hold(id: string): Promise<ModelExport | null> {
    await db.$queryRaw`select 1 from model_exports where id = ${id}::uuid for update`
    return this.get(id)
  },

  /** The export whose newest program has this token, locked until the transaction ends. */
  async holdByToken(tokenHash: Uint8Array): Promise<ModelExport | null> {
    const [row] = await db.$queryRaw<{ id: string }[]>`
      select id from model_exports where token_hash = ${tokenHash} for update`
    return row ? this.get(row.id) : null
  },

  async countOpen(accountId: string): Promise<number> {
    return db.modelExport.count({ where: { accountId, ...open } })
  },

  /** Names the next program. Whatever an older one announced no longer counts. */
  async openRun({ id, number }: Run, tokenHash: Uint8Array) {
    const data = { status: 'RUNNING', runNumber: number, runIsOpen: true, failure: null, files: [], committedAt: null }
    await db.modelExport.updateMany({
      where: { id, ...open },
      data: { ...data, tokenHash: new Uint8Array(tokenHash) },
    })
  },

  /** Its program is gone. */
  async closeRun({ id, number }: Run) {
    await db.modelExport.updateMany({ where: { id, runNumber: number }, data: { runIsOpen: false } })
  },

  async announce(id: string, files: readonly ExportedFile[]) {
    await db.modelExport.update({ where: { id }, data: { files: files as unknown as Prisma.JsonArray } })
  },

  async commit(id: string) {
    await db.modelExport.update({ where: { id }, data: { committedAt: new Date() } })
  },

  /** The committed bytes were wrong. */
  async forgetCommit({ id, number }: Run) {
    await db.modelExport.updateMany({ where: { id, runNumber: number, ...open }, data: { committedAt: null } })
  },

  async noteFailure(id: string, failure: string) {
    await db.modelExport.update({ where: { id }, data: { failure } })
  },

  /** A repeat changes nothing. */
  async complete(id: string) {
    await db.$executeRaw`
      update model_exports set status = 'COMPLETED', finished_at = now() where id = ${id}::uuid and finished_at is null`
  },

  /** A failed export has no files. A repeat changes nothing. */
  async fail(id: string, message: string) {
    await db.$executeRaw`
      update model_exports set status = 'FAILED', message = ${message}, files = '[]', run_is_open = false, finished_at = now()
      where id = ${id}::uuid and finished_at is null`
  },

  /** Those of these programs that may run. */
  async wantedRuns(runs: readonly Run[]): Promise<Run[]> {
    const rows = await db.modelExport.findMany({
      where: { id: { in: runs.map(({ id }) => id) }, runIsOpen: true, ...open },
      select: { id: true, runNumber: true },
    })
    return rows.map(({ id, runNumber: number }) => ({ id, number }))
  },

  /** Returns the exports that exist. */
  async listKnown(ids: readonly string[]): Promise<{ id: string; isOpen: boolean; fileNames: string[] }[]> {
    const select = { id: true, files: true, finishedAt: true } as const
    const rows = await db.modelExport.findMany({ where: { id: { in: [...new Set(ids)] } }, select })
    return rows.map(({ id, files, finishedAt }) => ({
      id,
      isOpen: finishedAt === null,
      fileNames: (files as ExportedFile[]).map(({ name }) => name),
    }))
  },

  async listOf(accountId: string, modelName: string): Promise<ModelExport[]> {
    return (await db.modelExport.findMany({ where: { accountId, modelName } })).map(plain)
  },
})

const plain = (row: Prisma.ModelExportGetPayload<object>): ModelExport => ({
  id: row.id,
  accountId: row.accountId,
  modelName: row.modelName,
  request: row.request as unknown as MergeRequest,
  status: row.status as ExportStatus,
  message: row.message,
  runNumber: row.runNumber,
  runIsOpen: row.runIsOpen,
  failure: row.failure,
  files: row.files as ExportedFile[],
  committedAt: row.committedAt,
  grantedAt: row.grantedAt,
  finishedAt: row.finishedAt,
})
