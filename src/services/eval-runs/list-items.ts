import { chunkSize } from '../../domain/chunk-layout.ts'
import { outcomeOf, type EvalItem, type ItemOutcome, type JudgedItem } from '../../domain/eval-run.ts'
import { ServiceError } from '../../domain/service-error.ts'
import type { Ctx } from '../context.ts'
import { noRun, type EvalRun } from './find.ts'

/** `index`: the position among the items of the run. */
export type OutputItem = { index: number; source: EvalItem; judged: JudgedItem; outcome: ItemOutcome }

type Page = { after: number | null; limit: number; isOldestFirst: boolean; outcome: ItemOutcome | null }

/** Lists the items that are judged so far. @throws ServiceError not_found once retention has removed them */
export async function listOutputItems({
  ctx,
  input: { run, after, limit, isOldestFirst, outcome },
}: {
  ctx: Ctx
  input: Page & { run: EvalRun }
}): Promise<{ items: OutputItem[]; hasMore: boolean }> {
  const found: OutputItem[] = []
  const chunks = [...run.run.chunks.keys()]
  const isBeyond = (index: number) => after === null || (isOldestFirst ? index > after : index < after)
  for (const chunk of isOldestFirst ? chunks : chunks.toReversed()) {
    const [first, last] = [chunk * chunkSize, (chunk + 1) * chunkSize - 1]
    if (!isBeyond(first) && !isBeyond(last)) continue
    const items = await readChunk(ctx, run, chunk)
    const shown = items.filter((item) => isBeyond(item.index) && (outcome === null || item.outcome === outcome))
    found.push(...(isOldestFirst ? shown : shown.toReversed()))
    if (found.length > limit) break
  }
  return { items: found.slice(0, limit), hasMore: found.length > limit }
}

/** @throws ServiceError not_found, also before the item is judged */
export async function findOutputItem({
  ctx,
  input: { run, index },
}: {
  ctx: Ctx
  input: { run: EvalRun; index: number }
}): Promise<OutputItem> {
  const chunk = Math.floor(index / chunkSize)
  const item = (await readChunk(ctx, run, chunk)).find((each) => each.index === index)
  if (!item) throw new ServiceError('not_found', 'There is no such output item, or it is not judged yet.')
  return item
}

async function readChunk({ deps }: Ctx, { id, rowsKey, run }: EvalRun, chunk: number): Promise<OutputItem[]> {
  const location = run.chunks[chunk]
  const start = chunk * chunkSize
  const judged =
    location && (await deps.database.modelEvaluations.findChunk<JudgedItem>({ evaluationId: id, model: 0, start }))
  if (!location || !judged || rowsKey === null) return []
  const { bytes } = await deps.storage.readRange(rowsKey, { offset: location.offset, limit: location.sizeBytes })
  // Retention removes the items before the run.
  if (bytes.length < location.sizeBytes) throw noRun()
  const sources = JSON.parse(bytes.toString()) as EvalItem[]
  return judged.map((each, at) => ({
    index: start + at,
    source: sources[at] as EvalItem,
    judged: each,
    outcome: outcomeOf(each),
  }))
}
