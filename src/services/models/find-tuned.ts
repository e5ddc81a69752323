import { invalidInput, ServiceError } from '../../domain/service-error.ts'
import type { TunedModel } from '../../domain/training-job.ts'
import type { Ctx } from '../context.ts'

export const modelNotFound = (name: string) =>
  new ServiceError('model_not_found', `There is no model "${name}". GET /v1/models lists the models that you can use.`)

/**
 * Some clients of OpenAI's API want names of tuned models to begin with "ft:", and put more words between.
 * @returns our part of such a name; any other name unchanged
 */
export const tunedNameOf = (name: string) => /^ft:(?:.*:)?([0-9a-f]{64})$/s.exec(name)?.[1] ?? name

/** Finds a tuned model of the account. @throws ServiceError model_not_found, invalid_input for a base model */
export async function findTunedModel(
  { deps: { catalogue, database }, accountId }: Ctx,
  name: string,
): Promise<TunedModel> {
  const tuned = await database.models.find(accountId, tunedNameOf(name))
  if (tuned) return tuned
  if (catalogue.find(name))
    throw invalidInput('name', `"${name}" is a base model. Only tuned models can be downloaded or deleted.`)
  throw modelNotFound(name)
}
