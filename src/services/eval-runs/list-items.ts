import { messagesOf, outcomeOf, type EvalItem, type ItemOutcome, type JudgedItem } from '../../domain/eval-run.ts'
import { ServiceError } from '../../domain/service-error.ts'
import type { Ctx } from '../context.ts'
import { noRun, type EvalRun } from './find.ts'

/** `index`: the position among the items of the run. `said`: the conversation that the model got, if one was asked. */
export type OutputItem = { index: number; source: EvalItem; judged: JudgedItem; outcome: ItemOutcome; said: unknown }

type Page = { after: number | null; limit: number; isOldestFirst: boolean; outcome: ItemOutcome | null }

/** The conversations and answers of a page. An answer of this size takes some 20 ms to write. */
const pageCharacters = 1024 * 1024

/**
 * Lists the items that are judged so far: fewer than asked for where they are long, but at least one.
 * @throws ServiceError not_found once retention has removed them
 */
export async function listOutputItems({
  ctx,
  input: { run, after, limit, isOldestFirst, outcome },
}: {
  ctx: Ctx
  input: Page & { run: EvalRun }
}): Promise<{ items: OutputItem[]; hasMore: boolean }> {
  const found: OutputItem[] = []
  let left = pageCharacters
  const size = run.run.chunkSize
  const chunks = [...run.run.chunks.keys()]
  const isBeyond = (index: number) => after === null || (isOldestFirst ? index > after : index < after)
  for (const chunk of isOldestFirst ? chunks : chunks.toReversed()) {
    const [first, last] = [chunk * size, (chunk + 1) * size - 1]
    if (!isBeyond(first) && !isBeyond(last)) continue
    const judged = await readChunk(ctx, run, chunk)
    for (const item of isOldestFirst ? judged : judged.toReversed()) {
      if (!isBeyond(item.index) || (outcome !== null && item.outcome !== outcome)) continue
      const shown = { ...item, said: saidTo(run, item.source) }
      left -= charactersOf(shown)
      if (found.length === limit || (left < 0 && found.length > 0)) return { items: found, hasMore: true }
      found.push(shown)
    }
  }
  return { items: found, hasMore: false }
}

const saidTo = ({ run: { sampling } }: EvalRun, source: EvalItem): unknown =>
  sampling ? messagesOf(sampling.messages, source) : []

const charactersOf = ({ said, source, judged }: OutputItem) =>
  JSON.stringify([said, source.item, judged.results]).length + (judged.output?.length ?? 0)

/** @throws ServiceError not_found, also before the item is judged */
export async function findOutputItem({
  ctx,
  input: { run, index },
}: {
  ctx: Ctx
  input: { run: EvalRun; index: number }
}): Promise<OutputItem> {
  const chunk = Math.floor(index / run.run.chunkSize)
  const item = (await readChunk(ctx, run, chunk)).find((each) => each.index === index)
  if (!item) throw new ServiceError('not_found', 'There is no such output item, or it is not judged yet.')
  return { ...item, said: saidTo(run, item.source) }
}

async function readChunk(
  { deps }: Ctx,
  { id, rowsKey, run }: EvalRun,
  chunk: number,
): Promise<Omit<OutputItem, 'said'>[]> {
  const location = run.chunks[chunk]
  const start = chunk * run.chunkSize
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
