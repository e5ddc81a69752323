import { durableWork, type ListedKind, type Work } from '../../domain/durable-work.ts'
import { isUuid } from '../../domain/identifiers.ts'
import { ServiceError } from '../../domain/service-error.ts'
import type { Wait } from '../../domain/wait.ts'
import type { Repositories } from '../../repositories/database.ts'
import type { Ctx } from '../context.ts'
import { readWaits } from './wait.ts'

type RepositoryOf<Kind extends ListedKind> = Repositories[(typeof durableWork)[Kind]['repository']]
export type Found<Kind extends ListedKind> = NonNullable<Awaited<ReturnType<RepositoryOf<Kind>['find']>>>

/** The repository of a listed kind has these statements. `end` gives the ids of the work's batches, or null when it had ended before. */
type Rows<Row> = {
  find: (accountId: string, id: string) => Promise<Row | null>
  list: (accountId: string, page: { after: string | null; limit: number }) => Promise<{ rows: Row[]; hasMore: boolean }>
  end: (id: string, status: 'CANCELLED', message: null) => Promise<readonly string[] | null>
}

/** TypeScript does not follow a generic kind to its repository; `satisfies` checks those that there are. */
export const rowsOfKind = <Kind extends ListedKind>(repositories: Repositories, kind: Kind) =>
  repositories[durableWork[kind].repository] satisfies Rows<unknown> as Rows<unknown> as Rows<Found<Kind>>

export const workNotFound = ({ kind, id }: Work) => new ServiceError('not_found', `There is no ${kind} ${id}.`)

/** @throws ServiceError not_found */
export async function findWork<Kind extends ListedKind>(
  { deps: { database }, accountId }: Ctx,
  { kind, id }: { kind: Kind; id: string },
): Promise<Found<Kind>> {
  const work = isUuid(id) ? await rowsOfKind(database, kind).find(accountId, id) : null
  if (!work) throw workNotFound({ kind, id })
  return work
}

/** `wait`: why the work has not started; null once it has. */
export type Shown<Kind extends ListedKind> = Found<Kind> & { wait: Wait | null }

/** @throws ServiceError not_found */
export async function showWork<Kind extends ListedKind>(
  ctx: Ctx,
  work: { kind: Kind; id: string },
): Promise<Shown<Kind>> {
  const found = await findWork(ctx, work)
  const waitOf = await readWaits(ctx, work.kind, [found])
  return { ...found, wait: waitOf(found) }
}
