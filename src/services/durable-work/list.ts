import type { ListedKind } from '../../domain/durable-work.ts'
import { isUuid } from '../../domain/identifiers.ts'
import { invalidInput } from '../../domain/service-error.ts'
import type { Ctx } from '../context.ts'
import { rowsOfKind, type Found } from './find.ts'

/** Lists the account's work of a kind, newest first. @throws ServiceError invalid_input */
export async function listWork<Kind extends ListedKind>({
  ctx: { deps, accountId },
  input: { kind, after = null, limit },
}: {
  ctx: Ctx
  input: { kind: Kind; after?: string | null; limit: number }
}): Promise<{ rows: Found<Kind>[]; next: string | null }> {
  const all = rowsOfKind(deps.database, kind)
  if (after !== null && !(isUuid(after) && (await all.find(accountId, after))))
    throw invalidInput('after', 'after must be the `next` of an earlier page.')
  const { rows, hasMore } = await all.list(accountId, { after, limit })
  return { rows, next: hasMore ? (rows.at(-1)?.id ?? null) : null }
}
