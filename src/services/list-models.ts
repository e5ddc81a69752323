import type { CatalogueEntry } from '../domain/catalogue.ts'
import type { TunedModel } from '../domain/training-job.ts'
import type { Ctx } from './context.ts'

const most = 1000

/** The catalogue, and the account's newest tuned models. */
export async function listModels({
  ctx,
}: {
  ctx: Ctx
}): Promise<{ base: readonly CatalogueEntry[]; tuned: TunedModel[] }> {
  return { base: ctx.deps.catalogue.entries, tuned: await ctx.deps.database.models.list(ctx.accountId, most) }
}
