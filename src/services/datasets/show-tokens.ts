import type { CatalogueEntry } from '../../domain/catalogue.ts'
import type { PreparedRow, TokenizedRow } from '../../domain/row-tokens.ts'
import type { TrainingArgs } from '../../domain/training-args.ts'
import { methodForTrainer, type TrainingMethod } from '../../domain/training-method.ts'
import type { Ctx } from '../context.ts'

/** Rows that one answer shows with their tokens. The rows after them are counted. */
export const mostShownRows = 20

/** How the rows would be learned. */
export type Training = { entry: CatalogueEntry; args: TrainingArgs; method: TrainingMethod | null }

/**
 * The rows as the trainer would learn them. The server of the base model encodes them with the trainer's own code.
 * @throws ServiceError invalid_input, quota_exceeded, unavailable; the signal's reason
 */
export async function showTokens(
  ctx: Ctx,
  { rows, training: { entry, args, method } }: { rows: readonly PreparedRow[]; training: Training },
  signal: AbortSignal,
): Promise<TokenizedRow[]> {
  const texts = rows.flatMap(({ text }) => text ?? [])
  const asked = {
    method: method ? methodForTrainer(method) : undefined,
    maxLength: args.max_length,
    specialTokens: args.special_tokens,
    overlong: args.overlong ?? null,
    rows: texts,
    shownRows: mostShownRows,
  }
  const { accountId } = ctx
  const request = { baseModel: entry, adapter: null, accountId, signal, asked }
  const encoded = texts.length === 0 ? [] : await ctx.deps.inference.previewRows(request)
  const found = encoded.values()
  return rows.map(({ line, text, error }) => {
    const row = text === null ? null : (found.next().value ?? null)
    return {
      line,
      sequences: row && row.sequences,
      error: row?.error ? { field: 'row', reason: row.error } : error,
    }
  })
}
