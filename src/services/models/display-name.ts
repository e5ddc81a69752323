import { checkpointDisplayName, jobDisplayName } from '../../domain/display-name.ts'
import { parseCheckpointName } from '../../domain/model-reference.ts'
import type { TunedModel } from '../../domain/training-job.ts'
import type { Ctx } from '../context.ts'

/** The name for people of a tuned model that a request found under `reference`, which may name a checkpoint. */
export async function modelDisplayName(
  { deps: { database }, accountId }: Ctx,
  reference: string,
  { name, jobId }: Pick<TunedModel, 'name' | 'jobId'>,
): Promise<string> {
  const checkpoint = parseCheckpointName(reference)
  if (!checkpoint) return (await database.models.displayNames(accountId, [name])).get(name) ?? name
  const [job] = await database.jobDetails.describe(accountId, [jobId])
  return job ? checkpointDisplayName(jobDisplayName(job), checkpoint.step) : reference
}
