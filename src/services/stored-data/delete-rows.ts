import { collectionName } from '../../domain/stored-data.ts'
import { recordAudit } from '../audit/record.ts'
import type { Ctx } from '../context.ts'

/** After the answer no query and no new job sees the rows. */
export async function deleteRows({ ctx, input: { id } }: { ctx: Ctx; input: { id: string } }) {
  const { database, catalogue } = ctx.deps
  const collection = collectionName(catalogue, id)
  return database.transaction(async (tx) => {
    await recordAudit(tx, ctx, 'data.delete', id)
    return { deleted: await tx.storedRows.remove({ accountId: ctx.accountId, collection }) }
  })
}
