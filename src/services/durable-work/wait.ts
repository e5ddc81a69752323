import type { WorkKind } from '../../domain/durable-work.ts'
import { turnWait, type Wait } from '../../domain/wait.ts'
import type { Ctx } from '../context.ts'

type Turn = { grantedAt: Date | null; finishedAt: Date | null }

const waits = ({ grantedAt, finishedAt }: Turn) => grantedAt === null && finishedAt === null

/** Returns a function that says why work of these rows has not started; null for work that has its turn or has ended. */
export async function readWaits(
  { deps: { database } }: Pick<Ctx, 'deps'>,
  kind: WorkKind,
  rows: readonly Turn[],
): Promise<(row: Turn) => Wait | null> {
  if (!rows.some(waits)) return () => null
  const wait = turnWait(kind, await database.installation.maintenance())
  return (row) => (waits(row) ? wait : null)
}
