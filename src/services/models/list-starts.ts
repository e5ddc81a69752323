import { isWait } from '../../domain/pending-reason.ts'
import type { Ctx } from '../context.ts'

/** Maps the name of a base model that starts to a sentence on what its servers are doing. */
export type Starts = ReadonlyMap<string, string>

export async function listStarts({ ctx }: { ctx: Ctx }): Promise<Starts> {
  const servers = await ctx.deps.database.modelServers.listServed()
  return new Map(
    servers.flatMap(({ baseModel, state, reason, message }) =>
      state === 'starting' && message !== null && isWait(reason) ? [[baseModel, message.split('\n', 1)[0] ?? '']] : [],
    ),
  )
}
