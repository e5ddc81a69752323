import { chunkSize, type ChunkLocation } from '../../domain/chunk-layout.ts'
import type { ScoredAnswer } from '../../domain/grader.ts'
import type { EvaluatedRow, ModelEvaluation } from '../../domain/model-evaluation.ts'
import type { Ctx } from '../context.ts'
import { findWork, workNotFound } from '../durable-work/find.ts'

/** `outputs`: by model, in the order of the request; null while it is not scored. */
type ListedRow = EvaluatedRow & { index: number; outputs: { model: string; answer: ScoredAnswer | null }[] }

/** The texts of a page. An answer of this size takes some 20 ms to write. */
const pageCharacters = 1024 * 1024

/** Lists rows with the answers that are scored so far: fewer where they are long, but at least one. @throws ServiceError not_found */
export async function listEvaluationRows({
  ctx,
  input: { id, offset, limit },
}: {
  ctx: Ctx
  input: { id: string; offset: number; limit: number }
}): Promise<{ rows: ListedRow[]; next: number | null }> {
  const evaluation = await findWork(ctx, { kind: 'evaluation', id })
  const end = Math.min(offset + limit, evaluation.rowCount ?? 0)
  const rows: ListedRow[] = []
  let left = pageCharacters
  for (let chunk = Math.floor(offset / chunkSize); chunk * chunkSize < end; chunk++)
    for (const row of await readChunk(ctx, evaluation, chunk)) {
      if (row.index < offset || row.index >= end) continue
      left -= charactersOf(row)
      if (left < 0 && rows.length > 0) return { rows, next: row.index }
      rows.push(row)
    }
  return { rows, next: end < (evaluation.rowCount ?? 0) ? end : null }
}

const charactersOf = ({ input, expected, outputs }: ListedRow) =>
  input.length + expected.length + outputs.reduce((sum, { answer }) => sum + (answer?.output?.length ?? 0), 0)

async function readChunk(
  ctx: Ctx,
  { id, rowsKey, plan, request }: ModelEvaluation,
  chunk: number,
): Promise<ListedRow[]> {
  const location = plan?.chunks[chunk]
  if (!location || rowsKey === null) return []
  const { modelEvaluations } = ctx.deps.database
  const start = chunk * chunkSize
  const [rows, ...answers] = await Promise.all([
    readRows(ctx, rowsKey, location, id),
    ...request.models.map((_, model) => modelEvaluations.findChunk({ evaluationId: id, model, start })),
  ])
  return rows.map((row, at) => ({
    ...row,
    index: start + at,
    outputs: request.models.map(({ name }, model) => ({ model: name, answer: answers[model]?.[at] ?? null })),
  }))
}

async function readRows({ deps: { storage } }: Ctx, key: string, { offset, sizeBytes }: ChunkLocation, id: string) {
  const { bytes } = await storage.readRange(key, { offset, limit: sizeBytes })
  // Retention removes the rows before the evaluation.
  if (bytes.length < sizeBytes) throw workNotFound({ kind: 'evaluation', id })
  return JSON.parse(bytes.toString()) as EvaluatedRow[]
}
