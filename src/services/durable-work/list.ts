import type { ListedKind } from '../../domain/durable-work.ts'
import { isUuid } from '../../domain/identifiers.ts'
import { invalidInput } from '../../domain/service-error.ts'
import type { Ctx } from '../context.ts'
import { rowsOfKind, type Shown } from './find.ts'
import { readWaits } from './wait.ts'

/** Lists the account's work of a kind, newest first. @throws ServiceError invalid_input */
export async function listWork<Kind extends ListedKind>({
  ctx,
  input: { kind, after = null, limit },
}: {
  ctx: Ctx
  input: { kind: Kind; after?: string | null; limit: number }
}): Promise<{ rows: Shown<Kind>[]; next: string | null }> {
  const { deps, accountId } = ctx
  const all = rowsOfKind(deps.database, kind)
  if (after !== null && !(isUuid(after) && (await all.find(accountId, after))))
    throw invalidInput('after', 'after must be the `next` of an earlier page.')
  const { rows, hasMore } = await all.list(accountId, { after, limit })
  const waitOf = await readWaits(ctx, kind, rows)
  return { rows: rows.map((row) => ({ ...row, wait: waitOf(row) })), next: hasMore ? (rows.at(-1)?.id ?? null) : null }
}
