import { totalsOf, type PreparedRows, type TokenizedRow, type TokenTotals } from '../../domain/row-tokens.ts'
import { unreadNote } from '../../domain/unread-note.ts'
import { methodNameOf, shownMethod, type ShownMethod } from '../../domain/training-method.ts'
import { itemNeedsOf } from '../../domain/reward-task.ts'
import type { TrainingArgs } from '../../domain/training-args.ts'
import { trainingDataName, type Columns } from '../../domain/dataset-report.ts'
import type { Ctx } from '../context.ts'
import { readParts } from '../datasets/check-referenced.ts'
import { rowsLeft } from '../datasets/resolve.ts'
import { mostShownRows, showTokens } from '../datasets/show-tokens.ts'
import { resolveTraining, type SubmitTrainingJobInput } from './submit.ts'

const countedRows = 500

export type TrainingPreview = {
  /** The first rows of the data, of each set of several. `set`: the name of the set. */
  rows: (TokenizedRow & { set?: string })[]
  totals: TokenTotals
  method: ShownMethod
  args: TrainingArgs
  warnings: string[]
}

/**
 * Shows what a job would learn of its first rows, and creates nothing.
 * @throws ServiceError model_not_found, invalid_input, quota_exceeded, unavailable; the signal's reason
 */
export async function previewTrainingJob({
  ctx,
  input,
  signal,
}: {
  ctx: Ctx
  input: SubmitTrainingJobInput
  signal: AbortSignal
}): Promise<TrainingPreview> {
  const { entry, args, notes, method } = await resolveTraining(ctx, input)
  const { datasets, database } = ctx.deps
  const setCount = input.sets?.length ?? 1
  const readLines = (key: string, columns: Columns | null) =>
    datasets.lines(
      {
        accountId: ctx.accountId,
        key,
        columns,
        method: methodNameOf({ method }),
        ...(method?.task && { needs: itemNeedsOf(method.task) }),
        offset: 0,
        limit: Math.floor(countedRows / setCount),
      },
      signal,
    )
  const { parts, leftIn } = await readParts<PreparedRows>(ctx, input, {
    version: async ({ id, uploadKey }) => readLines(uploadKey, await database.datasets.columns(id)),
    async rows({ key }) {
      const found = await readLines(key, null)
      if (!found) throw new Error(`the rows at ${key} are gone`)
      return found
    },
  })
  const asked = inTurn(parts.map(({ set, read }) => read.rows.map((row) => ({ row, set }))))
  const shown = await showTokens(ctx, { rows: asked.map(({ row }) => row), training: { entry, args, method } }, signal)
  const rows = shown.map((row, index) => {
    const set = asked[index]?.set
    return { ...row, ...(set !== undefined && { set }) }
  })
  const told = [...notes, ...(leftIn === null ? [] : [rowsLeft(leftIn)])]
  const unread = parts.flatMap(({ set, read: { unreadFields } }) => {
    const name = `beginning of the ${trainingDataName({ ...(set !== undefined && { set }) })}`
    return unreadNote(name, { unreadFields, method: methodNameOf({ method }) }) ?? []
  })
  return {
    rows: rows.slice(0, mostShownRows),
    totals: totalsOf(
      rows,
      parts.every(({ read }) => read.isEnd),
    ),
    method: shownMethod({ method, args }, entry),
    args,
    warnings: [...told.map(({ message }) => message), ...unread],
  }
}

/** The first of each list, then the second of each, and so on. */
const inTurn = <T>(lists: readonly (readonly T[])[]): T[] =>
  Array.from({ length: Math.max(...lists.map(({ length }) => length)) }, (_, at) =>
    lists.flatMap((list) => list.slice(at, at + 1)),
  ).flat()
