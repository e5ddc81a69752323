import { modelServerName } from '../../domain/identifiers.ts'
import type { Database } from '../../repositories/database.ts'

/** Requests a model server for this base model. Does nothing when one runs. */
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
