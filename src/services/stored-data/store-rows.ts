import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  collectionDatasetId,
  collectionName,
  itemHash,
  itemText,
  readFormat,
  readItem,
} from '../../domain/stored-data.ts'
import { invalidInput } from '../../domain/service-error.ts'
import type { NewStoredRow } from '../../repositories/stored-rows.ts'
import { recordAudit } from '../audit.ts'
import type { Ctx } from '../context.ts'
import { once, type Idempotency } from '../idempotency.ts'
import { requireRoomForData } from '../limits/account-quotas.ts'

type StoreRowsInput = { id: string | null; modelName: string | null; data: unknown; dataType: unknown }

/** Rows that are read, or written, before others get their turn. */
const pageSize = 500

/**
 * Adds rows under an id; one that is there already is kept once. All rows are checked before the first is written, and a request
 * that ended midway can be made again.
 * @throws ServiceError invalid_input naming the row, quota_exceeded
 */
export async function storeRows({
  ctx,
  input,
  idempotency,
}: {
  ctx: Ctx
  input: StoreRowsInput
  idempotency: Idempotency
}): Promise<{ datasetId: string }> {
  const { database, catalogue } = ctx.deps
  const id = input.id ?? input.modelName
  if (id === null) throw invalidInput('id', 'Name what the data is kept under: id or model_name.')
  const place = { accountId: ctx.accountId, collection: collectionName(catalogue, id) }
  return once(ctx, idempotency, async (answer) => {
    await requireRoomForData(ctx)
    const pages = await readRows(input)
    for (const page of pages) await database.storedRows.add(place, page)
    const datasetId = collectionDatasetId(place.accountId, place.collection)
    return database.transaction(async (tx) => {
      await recordAudit(tx, ctx, 'data.store', id)
      return answer(tx, { datasetId })
    })
  })
}

async function readRows({ data, dataType }: StoreRowsInput): Promise<NewStoredRow[][]> {
  const items = Array.isArray(data) ? (data as unknown[]) : [data]
  if (items.length === 0) throw invalidInput('data', 'data must hold at least one row.')
  const format = readFormat(items[0], dataType)
  const pages: NewStoredRow[][] = []
  for (let start = 0; start < items.length; start += pageSize) {
    pages.push(
      items.slice(start, start + pageSize).map((value, index) => {
        const item = readItem(value, `data[${start + index}]`, format)
        return { item, hash: itemHash(item), text: itemText(item) }
      }),
    )
    await nextTurn()
  }
  return pages
}
