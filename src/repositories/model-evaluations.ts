import { Prisma } from '../../generated/prisma/client.ts'
import type { ScoredAnswer } from '../domain/grader.ts'
import type {
  EvaluationEnding,
  EvaluationPlan,
  EvaluationRequest,
  EvaluationStatus,
  EvaluationSummary,
  ModelEvaluation,
} from '../domain/model-evaluation.ts'
import { ServiceError } from '../domain/service-error.ts'
import { readPage, textBytes, type Page } from './byte-pages.ts'
import type { Connection } from './connection.ts'
import { notify } from './notifications.ts'

type NewEvaluation = Pick<
  ModelEvaluation,
  'id' | 'accountId' | 'apiKeyId' | 'datasetId' | 'dataKey' | 'request' | 'maxRows'
>
/** Its items are stored already. */
type NewRun = NewEvaluation & { evalId: string; rowsKey: string; rowCount: number; sizeBytes: number }
type RunPage = {
  after: string | null
  limit: number
  isOldestFirst: boolean
  statuses: readonly EvaluationStatus[] | null
}
type Chunk = { evaluationId: string; model: number; start: number }
type Rows = { rowsKey: string; rowCount: number; sizeBytes: number; plan: EvaluationPlan }

/** JSON values are stored as text, because jsonb cannot hold a NUL, which an answer may contain. */
const text = (value: unknown) => JSON.stringify(value)

export const createModelEvaluationRepository = (db: Connection) => ({
  async create(evaluation: NewEvaluation) {
    const request = text(evaluation.request)
    const modelCount = evaluation.request.models.length
    const data = { ...evaluation, request, modelCount, status: 'QUEUED', rowBytes: request.length }
    await db.modelEvaluation.create({ data })
  },

  async createRun({ sizeBytes, ...run }: NewRun) {
    const request = text(run.request)
    const data = { ...run, request, modelCount: 1, status: 'QUEUED', storedBytes: sizeBytes, rowBytes: request.length }
    await db.modelEvaluation.create({ data })
  },

  /** Finds no run of an eval. */
  async find(accountId: string, id: string): Promise<ModelEvaluation | null> {
    const [found] = await read(db, Prisma.sql`id = ${id}::uuid and account_id = ${accountId}::uuid and eval_id is null`)
    return found ?? null
  },

  async findRun(accountId: string, { evalId, id }: { evalId: string; id: string }): Promise<ModelEvaluation | null> {
    const isRun = Prisma.sql`id = ${id}::uuid and account_id = ${accountId}::uuid and eval_id = ${evalId}::uuid`
    const [found] = await read(db, isRun)
    return found ?? null
  },

  /** `after` is the id of a run of the eval, which belongs to the account. */
  async listRuns(evalId: string, { after, limit, isOldestFirst, statuses }: RunPage): Promise<Page<ModelEvaluation>> {
    const direction = isOldestFirst ? 'asc' : 'desc'
    const heads = await db.modelEvaluation.findMany({
      select: headColumns,
      where: { evalId, ...(statuses && { status: { in: [...statuses] } }) },
      orderBy: [{ createdAt: direction }, { id: direction }],
      take: limit + 1,
      ...(after === null ? {} : { cursor: { id: after }, skip: 1 }),
    })
    return readRows(db, heads, limit)
  },

  /** The runs of an eval that have not ended, and the keys of the others. */
  async listRunKeys(evalId: string): Promise<{ openIds: string[]; keys: string[] }> {
    const select = { id: true, rowsKey: true, finishedAt: true } as const
    const rows = await db.modelEvaluation.findMany({ where: { evalId }, select })
    return {
      openIds: rows.flatMap(({ id, finishedAt }) => (finishedAt === null ? id : [])),
      keys: rows.flatMap(({ rowsKey }) => rowsKey ?? []),
    }
  },

  /** For workers: finds an evaluation of any account. @throws ServiceError not_found after its account was deleted */
  async get(id: string): Promise<ModelEvaluation> {
    const [found] = await read(db, Prisma.sql`id = ${id}::uuid`)
    if (!found) throw new ServiceError('not_found', `There is no evaluation ${id}.`)
    return found
  },

  /** Newest first, without runs of evals. `after` is the id of an evaluation of the account. */
  async list(
    accountId: string,
    { after, limit }: { after: string | null; limit: number },
  ): Promise<Page<ModelEvaluation>> {
    const heads = await db.modelEvaluation.findMany({
      select: headColumns,
      where: { accountId, evalId: null },
      orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
      take: limit + 1,
      ...(after === null ? {} : { cursor: { id: after }, skip: 1 }),
    })
    return readRows(db, heads, limit)
  },

  /** The account's open evaluations, and how many answers they may take. */
  async openOf(accountId: string): Promise<{ evaluationCount: number; answerCount: number }> {
    const [open] = await db.$queryRaw<{ evaluationCount: number; answerCount: number }[]>`
      select count(*)::int as "evaluationCount",
        coalesce(sum(model_count * coalesce(row_count, max_rows)), 0)::int as "answerCount"
      from model_evaluations where account_id = ${accountId}::uuid and finished_at is null`
    return open ?? { evaluationCount: 0, answerCount: 0 }
  },

  /** Fixes the rows of a queued evaluation, which is then running. @returns false when it has rows or has ended */
  async start(id: string, { rowsKey, rowCount, sizeBytes, plan }: Rows): Promise<boolean> {
    const { count } = await db.modelEvaluation.updateMany({
      where: { id, status: 'QUEUED' },
      data: { status: 'RUNNING', rowsKey, rowCount, storedBytes: { increment: sizeBytes }, plan: text(plan) },
    })
    return count > 0
  },

  async isChunkSaved({ evaluationId, model, start }: Chunk): Promise<boolean> {
    const where = { evaluationId_model_start: { evaluationId, model, start } }
    return (await db.modelEvaluationChunk.findUnique({ where, select: { start: true } })) !== null
  },

  /** The first results of a chunk stay. */
  async saveChunk<T extends ScoredAnswer>({ evaluationId, model, start }: Chunk, answers: readonly T[]) {
    await db.$executeRaw`
      insert into model_evaluation_chunks (evaluation_id, model, start, results)
      select id, ${model}, ${start}, to_jsonb(${text(answers)}::text)
      from model_evaluations where id = ${evaluationId}::uuid and status = 'RUNNING'
      on conflict do nothing`
  },

  /** Returns the judged items if the evaluation is a run of an eval. */
  async findChunk<T extends ScoredAnswer = ScoredAnswer>({ evaluationId, model, start }: Chunk): Promise<T[] | null> {
    const row = await db.modelEvaluationChunk.findUnique({
      where: { evaluationId_model_start: { evaluationId, model, start } },
    })
    return row && (JSON.parse(row.results as string) as T[])
  },

  /** Ends a running evaluation and counts the bytes of its answers. @returns false when it had ended before */
  async complete(id: string, summary: EvaluationSummary): Promise<boolean> {
    const count = await db.$executeRaw`
      update model_evaluations set status = 'COMPLETED', summary = to_jsonb(${text(summary)}::text), finished_at = now(),
        row_bytes = row_bytes + (
          select coalesce(sum(octet_length(results::text)), 0) from model_evaluation_chunks where evaluation_id = ${id}::uuid)
      where id = ${id}::uuid and status = 'RUNNING'`
    // The account's next evaluation may start.
    if (count > 0) await notify(db, 'work')
    return count > 0
  },

  /** Ends an open evaluation without a summary. @returns the ids of its batches; null when it had ended before */
  async end(id: string, status: EvaluationEnding, message: string | null): Promise<readonly string[] | null> {
    const [ended] = await db.$queryRaw<{ plan: string | null }[]>`
      update model_evaluations set status = ${status}, message = ${message}, finished_at = now(),
        row_bytes = row_bytes + (
          select coalesce(sum(octet_length(results::text)), 0) from model_evaluation_chunks where evaluation_id = ${id}::uuid)
      where id = ${id}::uuid and finished_at is null returning plan #>> '{}' plan`
    if (!ended) return null
    await notify(db, 'work')
    return ended.plan === null ? [] : (JSON.parse(ended.plan) as EvaluationPlan).batchIds
  },

  /** Returns the evaluations that exist, with the keys of their rows. */
  async listKeys(ids: string[]): Promise<Pick<ModelEvaluation, 'id' | 'rowsKey' | 'finishedAt'>[]> {
    const select = { id: true, rowsKey: true, finishedAt: true } as const
    return db.modelEvaluation.findMany({ where: { id: { in: [...new Set(ids)] } }, select })
  },
})

/** The stored bytes count the request, too. */
const headColumns = { id: true, storedBytes: true } as const

async function readRows(
  db: Connection,
  heads: readonly { id: string; storedBytes: bigint }[],
  limit: number,
): Promise<Page<ModelEvaluation>> {
  const sized = heads.map(({ id, storedBytes }) => ({ id, sizeBytes: Number(storedBytes) }))
  const { rows, hasMore } = await readPage(sized, limit, {
    read: (ids) => readTexts(db, Prisma.sql`id = any(${ids}::uuid[])`),
    sizeOf: ({ request, plan, summary, message }) => textBytes(request, plan, summary, message),
  })
  return { rows: rows.map(plain), hasMore }
}

type Texts = Omit<ModelEvaluation, 'request' | 'plan' | 'summary'> & {
  request: string
  plan: string | null
  summary: string | null
}

const read = async (db: Connection, where: Prisma.Sql) => (await readTexts(db, where)).map(plain)

/** Postgres takes the texts out of their jsonb: a text of megabytes is then parsed once here, not twice. */
const readTexts = (db: Connection, where: Prisma.Sql) => db.$queryRaw<Texts[]>`
  select id, account_id "accountId", api_key_id "apiKeyId", eval_id "evalId", dataset_id "datasetId", data_key "dataKey",
    max_rows "maxRows", message, rows_key "rowsKey", row_count "rowCount", created_at "createdAt",
    granted_at "grantedAt", finished_at "finishedAt", status, request #>> '{}' request, plan #>> '{}' plan, summary #>> '{}' summary
  from model_evaluations where ${where}`

const plain = ({ request, plan, summary, ...row }: Texts): ModelEvaluation => ({
  ...row,
  request: JSON.parse(request) as EvaluationRequest,
  plan: plan === null ? null : (JSON.parse(plan) as EvaluationPlan),
  summary: summary === null ? null : (JSON.parse(summary) as EvaluationSummary),
})
