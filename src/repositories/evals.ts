import type { Prisma } from '../../generated/prisma/client.ts'
import type { Eval, EvalDefinition } from '../domain/eval-run.ts'
import { readPage, textBytes, type Page as Found } from './byte-pages.ts'
import type { Connection } from './connection.ts'

type NewEval = Pick<Eval, 'id' | 'accountId' | 'name' | 'metadata' | 'definition'>
type Page = { after: string | null; limit: number; isOldestFirst: boolean; sortedBy: 'createdAt' | 'updatedAt' }

export const createEvalRepository = (db: Connection) => ({
  async create({ metadata, definition, ...head }: NewEval) {
    const texts = { metadata: metadata && JSON.stringify(metadata), definition: JSON.stringify(definition) }
    const sizeBytes = Buffer.byteLength(texts.definition) + Buffer.byteLength(texts.metadata ?? '')
    await db.eval.create({ data: { ...head, ...texts, sizeBytes } })
  },

  count: (accountId: string): Promise<number> => db.eval.count({ where: { accountId } }),

  async find(accountId: string, id: string): Promise<Eval | null> {
    const row = await db.eval.findFirst({ where: { id, accountId } })
    return row && plain(row)
  },

  /** `after` is the id of an eval of the account. */
  async list(accountId: string, { after, limit, isOldestFirst, sortedBy }: Page): Promise<Found<Eval>> {
    const direction = isOldestFirst ? 'asc' : 'desc'
    const heads = await db.eval.findMany({
      select: { id: true, sizeBytes: true },
      where: { accountId },
      orderBy: [{ [sortedBy]: direction }, { id: direction }],
      take: limit + 1,
      ...(after === null ? {} : { cursor: { id: after }, skip: 1 }),
    })
    const { rows, hasMore } = await readPage(heads, limit, {
      read: (ids) => db.eval.findMany({ where: { id: { in: ids } } }),
      sizeOf: ({ metadata, definition }) => textBytes(metadata, definition),
    })
    return { rows: rows.map(plain), hasMore }
  },

  /** Changes what is not undefined. @returns false when there is none */
  async update(
    { accountId, id }: Pick<Eval, 'accountId' | 'id'>,
    { name, metadata }: { name: string | undefined; metadata: Eval['metadata'] | undefined },
  ): Promise<boolean> {
    const data = {
      ...(name !== undefined && { name }),
      ...(metadata !== undefined && { metadata: metadata && JSON.stringify(metadata) }),
      updatedAt: new Date(),
    }
    return (await db.eval.updateMany({ where: { id, accountId }, data })).count > 0
  },

  /** Locks the eval, so that no run is added until the transaction ends. @returns false when there is none */
  async hold(accountId: string, id: string): Promise<boolean> {
    const held = await db.$queryRaw<unknown[]>`
      select id from evals where id = ${id}::uuid and account_id = ${accountId}::uuid for update`
    return held.length > 0
  },

  /** Deletes its runs too. */
  async remove(id: string) {
    await db.eval.deleteMany({ where: { id } })
  },
})

const plain = ({ metadata, definition, ...row }: Prisma.EvalGetPayload<object>): Eval => ({
  id: row.id,
  accountId: row.accountId,
  name: row.name,
  metadata: metadata === null ? null : (JSON.parse(metadata) as Eval['metadata']),
  definition: JSON.parse(definition) as EvalDefinition,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
})
