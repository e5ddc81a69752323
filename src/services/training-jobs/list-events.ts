import { invalidInput } from '../../domain/service-error.ts'
import type { JobEvent } from '../../domain/training-job.ts'
import type { AdminCtx, Ctx } from '../context.ts'
import { findTrainingJob } from './get.ts'

export type NamedEvent = JobEvent & { actorName: string | null }

/** Lists a job's events, oldest first. @throws ServiceError not_found, invalid_input */
export async function listJobEvents({
  ctx,
  input: { jobId, after, limit },
}: {
  ctx: Ctx
  input: { jobId: number; after?: string | undefined; limit: number }
}): Promise<{ events: NamedEvent[]; next: string | null }> {
  await findTrainingJob(ctx, jobId)
  if (after !== undefined && !/^\d{1,18}$/.test(after))
    throw invalidInput('after', 'after must be the cursor of an earlier page.')
  const events = await ctx.deps.database.jobEvents.list(jobId, {
    after: after === undefined ? null : BigInt(after),
    limit,
  })
  return { events: await withNames(ctx, events), next: events.length === limit ? (events.at(-1)?.id ?? null) : null }
}

/** Adds the names of the keys. */
export async function withNames({ deps }: Pick<AdminCtx, 'deps'>, events: readonly JobEvent[]): Promise<NamedEvent[]> {
  const keys = events.flatMap(({ actor }) => keyIn(actor) ?? [])
  const names = keys.length === 0 ? new Map<string, string>() : await deps.database.apiKeys.names(keys)
  return events.map((event) => ({ ...event, actorName: names.get(keyIn(event.actor) ?? '') ?? null }))
}

const keyIn = (actor: string) => /^key:(.+)$/.exec(actor)?.[1]
