import { sentenceOf } from '../../domain/model-server.ts'
import { isWait } from '../../domain/pending-reason.ts'
import type { Ctx } from '../context.ts'

/** Maps the name of a base model that starts to a sentence on what its servers are doing. */
export type Starts = ReadonlyMap<string, string>

export async function listStarts({ ctx }: { ctx: Ctx }): Promise<Starts> {
  const servers = await ctx.deps.database.modelServers.listServed()
  return new Map(
    servers.flatMap((server) => {
      const sentence = sentenceOf(server)
      return server.state === 'starting' && sentence !== undefined && isWait(server.reason)
        ? [[server.baseModel, sentence]]
        : []
    }),
  )
}
