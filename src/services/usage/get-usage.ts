import { z } from 'zod'
import { embeddingModelsOf } from '../../domain/catalogue.ts'
import { isModelId } from '../../domain/model-reference.ts'
import { invalidInput } from '../../domain/service-error.ts'
import type { UsageDimension } from '../../domain/usage.ts'
import type { UsageGroup, UsageLine } from '../../repositories/usage.ts'
import type { Ctx } from '../context.ts'
import { daysOf, type Days } from './days.ts'

const CursorPart = z.string().refine((text) => !text.includes('\0'))
const Cursor = z.tuple([CursorPart, CursorPart, CursorPart])

type GetUsageInput = Days & {
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
}): Promise<{
  from: string
  to: string
  lines: UsageLine[]
  next: string | null
  /** Names for people, by the id of the model and of the key. Those that are gone are absent. */
  modelNames: Map<string, string>
  keyNames: Map<string, string>
}> {
  const { first, last, after: dayAfter } = daysOf({ from, to })
  const lines = await deps.database.usage.list(accountId, {
    from: first,
    to: dayAfter,
    by,
    embeddingModels: embeddingModelsOf(deps.catalogue),
    after: after === null ? null : readCursor(after),
    limit,
  })
  const end = lines.length === limit ? lines.at(-1) : undefined
  const modelNames = await modelNamesOf(deps, accountId, lines)
  const keyNames = await deps.database.apiKeys.names(lines.map(({ key }) => key))
  return { from: first, to: last, lines, next: end ? writeCursor(end) : null, modelNames, keyNames }
}

/** Usage is counted for base models by their names, which people read as they are. */
async function modelNamesOf({ database }: Ctx['deps'], accountId: string, lines: readonly UsageLine[]) {
  const models = lines.map(({ model }) => model)
  const bases = models.filter((name) => !isModelId(name)).map((name) => [name, name] as const)
  return new Map([...bases, ...(await database.models.displayNames(accountId, models))])
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
