import { setImmediate as others } from 'node:timers/promises'
import { readDataset } from '../../datasets/read-dataset.ts'
import {
  collectionDatasetId,
  collectionName,
  itemHash,
  itemText,
  readFormat,
  readItem,
  type ItemFormat,
  type StoredItem,
} from '../../domain/stored-data.ts'
import { invalidInput } from '../../domain/service-error.ts'
import type { NewStoredRow } from '../../repositories/stored-rows.ts'
import { recordAudit } from '../audit/record.ts'
import { inByteTurn } from '../byte-turns.ts'
import type { Ctx } from '../context.ts'
import { once, type Idempotency } from '../idempotency.ts'
import { requireRoomForRows, requireRoomInDatabase } from '../limits/account-quotas.ts'
import type { ReceivedRows } from '../datasets/ingest-rows.ts'

/** `rows`: the items of an array. `data`: a single item. */
type StoreRowsInput = {
  id: string | null
  modelName: string | null
  rows: ReceivedRows | null
  data: unknown
  dataType: unknown
}

/** Rows per insert. */
const pageSize = 500

/**
 * Adds rows under an id; duplicates are kept once. All rows are checked before the first is written. An interrupted request
 * can be repeated. If the id is full, the rows that fitted stay.
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
  if (id === null) throw invalidInput('id', 'id or model_name is required: it names the set of stored rows.')
  const place = { accountId: ctx.accountId, collection: collectionName(catalogue, id) }
  return once(ctx, idempotency, async (answer) => {
    await requireRoomInDatabase(ctx)
    await inByteTurn(ctx, async () => {
      for await (const _ of readPages(ctx, input)) continue
      for await (const page of readPages(ctx, input))
        await database.transaction(async (tx) => {
          await tx.storedRows.add(place, page.map(newRow))
          await requireRoomForRows(ctx, tx, place)
          await requireRoomInDatabase(ctx, tx)
        })
    })
    const datasetId = collectionDatasetId(place.accountId, place.collection)
    return database.transaction(async (tx) => {
      await recordAudit(tx, ctx, 'data.store', id)
      return answer(tx, { datasetId })
    })
  })
}

const newRow = (item: StoredItem): NewStoredRow => ({ item, hash: itemHash(item), text: itemText(item) })

/** Checks the items, one page in memory at a time. */
async function* readPages(ctx: Ctx, input: StoreRowsInput): AsyncGenerator<StoredItem[]> {
  let format: ItemFormat | undefined
  let index = 0
  for await (const values of readValues(ctx, input)) {
    // The bytes may all be here already.
    await others()
    yield values.map((value) => {
      format ??= readFormat(value, input.dataType)
      return readItem(value, `data[${index++}]`, format)
    })
  }
}

async function* readValues({ deps: { storage } }: Ctx, { rows, data }: StoreRowsInput): AsyncGenerator<unknown[]> {
  if (!rows) {
    if (data === null || Array.isArray(data)) throw invalidInput('data', 'data must hold at least one row.')
    return yield [data]
  }
  const file = await storage.read(rows.key)
  if (!file) throw new Error('The rows that were just received are missing from the object store.')
  for await (const batch of readDataset(file))
    for (let start = 0; start < batch.length; start += pageSize)
      yield batch.slice(start, start + pageSize).map((row) => ('value' in row ? row.value : null))
}
