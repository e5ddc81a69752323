import type { OutputType } from '../domain/output-type.ts'
import { invalidInput } from '../domain/service-error.ts'
import type { Ctx } from './context.ts'
import { resolveModel } from './resolve-model.ts'

/**
 * Null is the default: at most 256 tokens of text, temperature 0 (the likeliest answer, the same each time), top_p 1.
 * For typed answers `maxTokens` bounds their texts, and `stop` is not used: either would leave them open.
 */
type CompleteInput = {
  modelName: string
  prompts: string[]
  outputType: OutputType | null
  maxTokens: number | null
  temperature: number | null
  topP: number | null
  seed: number | null
  stop: string[]
}

/**
 * One answer a prompt, in order: `{output}`, or exactly the asked fields.
 * @throws ServiceError model_not_found, invalid_input naming a prompt by its position, unavailable
 */
export async function complete({
  ctx,
  input: { modelName, prompts, outputType, ...sampling },
  signal,
}: {
  ctx: Ctx
  input: CompleteInput
  signal: AbortSignal
}): Promise<{ outputs: Record<string, unknown>[]; finishReasons: string[] }> {
  const { baseModel, adapter } = await resolveModel(ctx, modelName)
  if (baseModel.task !== 'completion')
    throw invalidInput('model_name', `"${modelName}" is an embedding model and does not complete prompts.`)
  return ctx.deps.inference.complete({ baseModel, adapter, prompts, outputType, sampling, signal })
}
