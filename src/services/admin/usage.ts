import { z } from 'zod'
import { embeddingModelsOf } from '../../domain/catalogue.ts'
import { invalidInput } from '../../domain/service-error.ts'
import type { AccountUsage, AccountUsageGroup } from '../../repositories/operator-views.ts'
import type { AdminCtx } from '../context.ts'
import { daysOf, type Days } from '../usage/days.ts'
import { findAccount } from './accounts.ts'

export const accountUsageDimensions = ['account', 'day', 'model'] as const
export type AccountUsageDimension = (typeof accountUsageDimensions)[number]

type UsageInput = Days & { by: readonly AccountUsageDimension[]; accountId: string | null }

const pageOfFile = 5000

const Cursor = z.tuple([z.string(), z.string(), z.string()])
const uuid = /^$|^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * The usage of all accounts for the operator, of its own for the key of an account.
 * @throws ServiceError invalid_input, not_found
 */
export async function getAccountUsage({
  admin,
  input: { after, limit, ...input },
}: {
  admin: AdminCtx
  input: UsageInput & { after: string | null; limit: number }
}): Promise<{ from: string; to: string; lines: AccountUsage[]; next: string | null }> {
  const { range, page } = await usagePages(admin, input)
  const lines = await page(after === null ? null : readCursor(after), limit)
  const end = lines.length === limit ? lines.at(-1) : undefined
  return { ...range, lines, next: end ? writeCursor(end) : null }
}

/** Every line of these days, page by page. @throws as `getAccountUsage`, before the first page */
export async function readAccountUsage({
  admin,
  input,
}: {
  admin: AdminCtx
  input: UsageInput
}): Promise<AsyncGenerator<AccountUsage[]>> {
  return allPages((await usagePages(admin, input)).page)
}

type ReadPage = (after: AccountUsageGroup | null, limit: number) => Promise<AccountUsage[]>

async function* allPages(page: ReadPage): AsyncGenerator<AccountUsage[]> {
  for (let last: AccountUsage | undefined; ;) {
    const lines = await page(last ?? null, pageOfFile)
    yield lines
    last = lines.at(-1)
    if (lines.length < pageOfFile) return
  }
}

async function usagePages(admin: AdminCtx, { by, accountId, ...days }: UsageInput) {
  if (accountId !== null) await findAccount(admin, accountId)
  const { first, last, after: dayAfter } = daysOf(days)
  const embeddingModels = embeddingModelsOf(admin.deps.catalogue)
  const query = { from: first, to: dayAfter, by, embeddingModels, accountId: admin.accountId ?? accountId }
  const page: ReadPage = (place, limit) => admin.deps.database.operatorViews.usage({ ...query, after: place, limit })
  return { range: { from: first, to: last }, page }
}

const writeCursor = ({ day, accountId, model }: AccountUsageGroup) =>
  Buffer.from(JSON.stringify([day, accountId, model])).toString('base64url')

function readCursor(after: string): AccountUsageGroup {
  try {
    const [day, accountId, model] = Cursor.parse(JSON.parse(Buffer.from(after, 'base64url').toString()))
    if (uuid.test(accountId) && ![day, model].some((part) => part.includes('\0'))) return { day, accountId, model }
  } catch {
    // Answered below.
  }
  throw invalidInput('after', 'after must be `next` of an earlier page.')
}
