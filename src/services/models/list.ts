import { invalidInput } from '../../domain/service-error.ts'
import type { ListedModel, ModelPlace } from '../../domain/training-job.ts'
import type { Ctx } from '../context.ts'

const pageSize = 500

export const encodeModelCursor = ({ createdMicros, name }: ModelPlace) =>
  Buffer.from(`model:${createdMicros}:${name}`).toString('base64url')

function decodeModelCursor(cursor: string): ModelPlace {
  const [, createdMicros, name] =
    /^model:(\d{1,16}):([\w.-]{1,256})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? []
  if (createdMicros !== undefined && name !== undefined && Number.isSafeInteger(Number(createdMicros))) {
    const place = { createdMicros, name }
    if (encodeModelCursor(place) === cursor) return place
  }
  throw invalidInput('after', 'after must be the cursor of an earlier page.')
}

/**
 * Yields the account's tuned models page by page, newest first, so that the whole list is never in memory.
 * @throws ServiceError invalid_input for a malformed cursor
 */
export async function* listModels({
  ctx,
  input: { after, limit },
}: {
  ctx: Ctx
  input: { after?: string | undefined; limit?: number | undefined }
}): AsyncGenerator<ListedModel[]> {
  let last = after === undefined ? null : decodeModelCursor(after)
  let left = limit ?? Number.POSITIVE_INFINITY
  while (left > 0) {
    const wanted = Math.min(left, pageSize)
    const page = await ctx.deps.database.models.list(ctx.accountId, { after: last, limit: wanted })
    if (page.length > 0) yield page
    if (page.length < wanted) return
    left -= page.length
    last = page.at(-1) ?? null
  }
}
