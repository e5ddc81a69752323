import { CommandError } from '../command-error.ts'
import type { Client } from './client.ts'

/**
 * Refuses a model that does not exist, and arguments that no training has: before an upload that no job would use. The service
 * itself takes unknown arguments with a warning, because scripts of the original platform send many.
 * @throws CommandError
 */
export async function checkTraining(client: Client, { model, args }: { model: string; args: readonly string[] }) {
  // Base models come first, whatever the limit is.
  const { data } = await client.get('/v1/models', { query: { limit: '1' } })
  const known = new Set(data.flatMap(({ recommended_args: all }) => Object.keys(all ?? {})))
  const unknown = args.find((name) => known.size > 0 && !known.has(name))
  if (unknown !== undefined)
    throw new CommandError(`A training has no argument "${unknown}". --set takes ${[...known].join(', ')}.`)
  if (!data.some(({ id, aliases }) => id === model || aliases.includes(model)))
    await client.get('/v1/models/:name', { params: { name: model }, query: { limit: '1' } })
}
