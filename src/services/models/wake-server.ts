import { modelServerName } from '../../domain/identifiers.ts'
import type { Database } from '../../repositories/database.ts'

/** Asks for a server of this base model; one that runs stays as it is. */
export async function wakeModelServer({
  database,
  baseModel,
}: {
  database: Pick<Database, 'outbox'>
  baseModel: string
}) {
  await database.outbox.add({
    workflowId: modelServerName(baseModel),
    kind: 'wake-model-server',
    generation: 0,
    payload: { baseModel },
  })
}
