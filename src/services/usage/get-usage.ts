import { z } from 'zod'
import { invalidInput } from '../../domain/service-error.ts'
import { dayOf, type UsageDimension } from '../../domain/usage.ts'
import type { UsageGroup, UsageLine } from '../../repositories/usage.ts'
import type { Ctx } from '../context.ts'

const dayMs = 24 * 60 * 60 * 1000
const usualDays = 30
const CursorPart = z.string().refine((text) => !text.includes('\0'))
const Cursor = z.tuple([CursorPart, CursorPart, CursorPart])

type GetUsageInput = {
  /** Days, inclusive. Null: the last 30 days up to today. */
  from: string | null
  to: string | null
  by: readonly UsageDimension[]
  after: string | null
  limit: number
}

/** The usage of the account's keys. @throws ServiceError invalid_input */
export async function getUsage({
  ctx: { deps, accountId },
  input: { from, to, by, after, limit },
}: {
  ctx: Ctx
  input: GetUsageInput
}): Promise<{ from: string; to: string; lines: UsageLine[]; next: string | null }> {
  const last = to ?? dayOf(new Date())
  const first = from ?? dayOf(new Date(Date.parse(last) - (usualDays - 1) * dayMs))
  if (first > last) throw invalidInput('from', 'from must not be later than to.')
  const lines = await deps.database.usage.list(accountId, {
    from: first,
    to: dayOf(new Date(Date.parse(last) + dayMs)),
    by,
    after: after === null ? null : readCursor(after),
    limit,
  })
  const end = lines.length === limit ? lines.at(-1) : undefined
  return { from: first, to: last, lines, next: end ? writeCursor(end) : null }
}

const writeCursor = ({ day, key, model }: UsageGroup) =>
  Buffer.from(JSON.stringify([day, key, model])).toString('base64url')

function readCursor(after: string): UsageGroup {
  try {
    const [day, key, model] = Cursor.parse(JSON.parse(Buffer.from(after, 'base64url').toString()))
    return { day, key, model }
  } catch {
    throw invalidInput('after', 'after must be the cursor of an earlier page.')
  }
}
