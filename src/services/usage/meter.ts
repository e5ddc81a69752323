import type { Meter } from '../../inference/meter.ts'
import type { ModelCtx } from '../context.ts'
import type { ResolvedModel } from '../models/resolve.ts'

/** Counts the work of one request under its key; `also` gets the token counts too. */
export function createMeter(
  { deps: { usage }, accountId, apiKeyId }: ModelCtx,
  { baseModel, adapter }: Pick<ResolvedModel, 'baseModel' | 'adapter'>,
  also?: Meter['countTokens'],
): Meter & { countPrompts: (prompts: number) => void } {
  const key = { accountId, apiKeyId, model: adapter?.name ?? baseModel.name }
  return {
    countPrompts: (prompts) => usage.add(key, { prompts }),
    countTokens(tokens) {
      usage.add(key, tokens)
      also?.(tokens)
    },
    countEngineSeconds: (engineSeconds) =>
      usage.add(key, { engineSeconds, gpuSeconds: engineSeconds * baseModel.resources.gpuCount }),
  }
}
