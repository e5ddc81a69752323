// A training begins from a base model or from a tuned one, whose adapter it continues.
import { z } from 'zod'
import type { CatalogueEntry } from '../../domain/catalogue.ts'
import type { Learned } from '../../domain/learned.ts'
import { parseCheckpointName } from '../../domain/model-reference.ts'
import { invalidInput, ServiceError } from '../../domain/service-error.ts'
import type { FinetuneArgs, RecommendedArgs } from '../../domain/training-args.ts'
import type { StartModel, TunedModel } from '../../domain/training-job.ts'
import type { Ctx } from '../context.ts'
import { lookUpTuned } from '../models/find-tuned.ts'

/** `shape` holds the arguments that follow from the adapter. */
export type FoundStart = {
  entry: CatalogueEntry
  startFrom: StartModel | null
  shape: AdapterShape | null
  /** Of the tuned model. */
  learned: Learned | null
}
type AdapterShape = { r_value: number; lora_alpha: number; target_modules: string | string[]; use_rslora: boolean }

/** What PEFT writes; the rest of the file does not limit a training. */
const AdapterConfig = z.object({
  r: z.int().min(1),
  lora_alpha: z.number().positive(),
  target_modules: z.union([z.string(), z.array(z.string())]),
  use_rslora: z.boolean().default(false),
})
const configLimitBytes = 1024 * 1024

/** @throws ServiceError model_not_found, invalid_input, unavailable */
export async function findStartModel(ctx: Ctx, name: string): Promise<FoundStart> {
  const { catalogue } = ctx.deps
  const base = catalogue.find(name)
  if (base?.task === 'completion') return { entry: base, startFrom: null, shape: null, learned: null }
  if (base) throw invalidInput('model_name', `"${name}" is an embedding model and cannot be fine-tuned.`)
  if (parseCheckpointName(name))
    throw invalidInput('model_name', 'A training begins from a base model or a tuned model, not from a checkpoint.')
  const tuned = await lookUpTuned(ctx, name)
  const entry = tuned && catalogue.find(tuned.baseModel)
  if (!tuned || !entry)
    throw new ServiceError(
      'model_not_found',
      `There is no model "${name}" to fine-tune: GET /v1/models lists base models and your tuned models.`,
    )
  const { name: modelName, jobId, files, learned = null } = tuned
  return { entry, startFrom: { modelName, jobId, files }, shape: await readShape(ctx, tuned), learned }
}

async function readShape({ deps: { storage } }: Ctx, { name, files }: TunedModel): Promise<AdapterShape> {
  const file = files.find((each) => each.name === 'adapter_config.json')
  const { bytes } = await storage.readRange(file?.key ?? '', { offset: 0, limit: configLimitBytes })
  if (bytes.length === 0)
    throw new ServiceError('unavailable', `The files of the model "${name}" cannot be read now. Try again.`, {
      retryAfterSeconds: 5,
    })
  const { r, ...others } = AdapterConfig.parse(JSON.parse(bytes.toString()))
  return { r_value: r, ...others }
}

/** The request's arguments with those of the adapter, before which the model's own give way. @throws ServiceError invalid_input when they contradict each other */
export function withShape(
  requested: FinetuneArgs,
  shape: AdapterShape | null,
  { recommendedArgs }: { recommendedArgs: RecommendedArgs },
): FinetuneArgs {
  if (!shape) return requested
  for (const key of ['r_value', 'lora_alpha', 'target_modules', 'use_rslora'] as const) {
    const [given, own] = [requested[key] ?? null, shape[key]]
    if (given !== null && textOf(given) !== textOf(own))
      throw invalidInput(
        `finetune_args.${key}`,
        `finetune_args.${key} follows from the tuned model and must be absent or ${textOf(own)}.`,
      )
  }
  const { use_rslora, ...always } = shape
  return { ...requested, ...always, ...((use_rslora || recommendedArgs.use_rslora) && { use_rslora }) }
}

const textOf = (value: number | string | boolean | string[]) =>
  JSON.stringify(Array.isArray(value) ? value.toSorted() : value)
