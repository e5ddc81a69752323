// Whether a training fits into the memory of the model's trainers, and what to change where it does not.
import { mayShareBase, sharesOfBase } from './base-sharding.ts'
import type { CatalogueEntry } from './catalogue.ts'
import type { DatasetReport } from './dataset-report.ts'
import type { TrainingArgs } from './training-args.ts'
import { trainingMemory, type ModelShape, type TrainingMemory } from './training-memory.ts'
import { samplesPerPrompt, type TrainingMethod } from './training-method.ts'

type Run = {
  entry: Pick<CatalogueEntry, 'name' | 'resources' | 'contextLength'> & { shape?: ModelShape }
  args: TrainingArgs
  method: TrainingMethod | null
  gpuCount: number
}

export type MemoryEstimate = TrainingMemory & { available: number | null; fits: boolean | null; advice: string[] }

/**
 * @param learned the share of the tokens that is learned; null when it is not known
 * @returns null without the files of the model, or without tokens of the rows by its tokenizer
 */
export function estimateMemory(
  run: Run & { reports: readonly DatasetReport[]; learned: number | null },
): MemoryEstimate | null {
  const { entry, gpuCount, reports, learned } = run
  const longestRow = entry.shape ? longestRowIn(reports, entry.name) : null
  const memory = longestRow === null ? null : memoryOf(run, { longestRow, learned: learned ?? 1 })
  if (!memory) return null
  const isGpu = gpuCount > 0
  const available = (isGpu ? entry.resources.gpuMemoryGiB : entry.resources.memoryGiB) ?? null
  // Without a GPU nothing tells the trainer that memory runs out: its passes stay as large.
  const needed = isGpu ? memory.least : memory.estimated
  const fits = available === null ? null : needed <= available
  return { ...memory, available, fits, advice: fits === false ? adviceOn(run, { isGpu, memory, available }) : [] }
}

/** In tokens. Null unless each report counts those of the model. */
export function longestRowIn(reports: readonly Pick<DatasetReport, 'tokenLength'>[], model: string): number | null {
  const lengths = reports.flatMap(({ tokenLength: each }) =>
    each?.tokenizer === model ? [each.input.max + each.output.max] : [],
  )
  return lengths.length > 0 && lengths.length === reports.length ? Math.max(...lengths) : null
}

type Rows = { longestRow: number; learned: number; mostSampled?: number }

function memoryOf(
  { entry: { shape, contextLength, resources }, args, method, gpuCount }: Run,
  { longestRow, learned, mostSampled = Infinity }: Rows,
): TrainingMemory | null {
  if (!shape) return null
  const sampling = samplingOf(method, Math.min(contextLength, mostSampled))
  const run = {
    ...{ shape, args, isGpu: gpuCount > 0, sampling },
    longest: Math.min(longestRow, args.max_length, contextLength),
    rowsPerStep: args.batch_size * args.gradient_accumulation_steps,
    learned: sampling ? 1 : learned,
    hasReference: method !== null && method.type !== 'supervised',
  }
  const { weights: weightsGib } = trainingMemory(run).parts
  const gpus = { gpuCount, weightsGib, gpuMemoryGib: resources.gpuMemoryGiB ?? null }
  return trainingMemory({ ...run, shares: sharesOfBase({ args, method }, gpus) })
}

function samplingOf(method: TrainingMethod | null, most: number) {
  // A model server has memory of its own.
  if (method?.type !== 'reinforcement' || method.hyperparameters['rollouts'] === 'server') return null
  const asked = Number(method.hyperparameters['max_completion_tokens'])
  return { answers: samplesPerPrompt(method.hyperparameters), tokens: Math.min(asked, most) }
}

/**
 * For a job on GPUs whose memory the model's entry tells.
 * @param longestRow null before the rows are read: then the least that any rows need counts
 * @returns a sentence that says what to change; null for a training that fits, or of which nothing is known
 */
export function fitProblem(run: Run, longestRow: number | null): string | null {
  const { entry, args, gpuCount } = run
  const { gpuMemoryGiB: available } = entry.resources
  if (available === undefined || gpuCount === 0) return null
  const longest = Math.min(longestRow ?? 1, args.max_length, entry.contextLength)
  // A trainer on a GPU falls back to passes of a single row, unless it shares the base.
  const needs = ({ isSmall = false, batchSize = args.batch_size, ...rows }: Change) => {
    const changed = { ...args, batch_size: batchSize, ...(isSmall && { load_in_4bit: true }) }
    return memoryOf({ ...run, args: changed }, { longestRow: longest, learned: 1, ...rows })?.least ?? 0
  }
  const needed = needs({})
  if (needed <= available) return null
  const fits = (change: Change) => needs(change) <= available
  const message = `This training needs about ${Math.ceil(needed)} GiB and a GPU of ${entry.name} has ${available}.`
  return `${message} ${changesThat(fits, { longest, args, sampled: samplingOf(run.method, entry.contextLength)?.tokens })}`
}

type Change = { isSmall?: boolean; batchSize?: number; longestRow?: number; mostSampled?: number }

/** The sizes from the largest power of two below `size` down to 32. */
const smallerThan = (size: number) =>
  Array.from({ length: 24 }, (_, power) => 2 ** (28 - power)).filter((each) => each < size && each >= 32)

function changesThat(
  fits: (change: Change) => boolean,
  { longest, args, sampled = 0 }: { longest: number; args: TrainingArgs; sampled?: number | undefined },
): string {
  const shorter = (isSmall: boolean) => {
    const rows = smallerThan(longest).find((longestRow) => fits({ isSmall, longestRow }))
    const answers = smallerThan(sampled).find((mostSampled) => fits({ isSmall, mostSampled }))
    return [...(rows ? [`max_length to ${rows}`] : []), ...(answers ? [`max_completion_tokens to ${answers}`] : [])]
  }
  const is4bit = args.load_in_4bit ?? false
  // A base in 4 bits stays whole.
  const in4bit = args.shard_base === true ? 'load_in_4bit without shard_base' : 'load_in_4bit'
  const alone = [
    ...(!is4bit && fits({ isSmall: true }) ? [in4bit] : []),
    ...(fits({ batchSize: 1 }) ? ['batch_size to 1'] : []),
    ...shorter(is4bit),
  ]
  const together = alone.length > 0 || is4bit ? [] : shorter(true).map((each) => `${in4bit} and ${each}`)
  const changes = [...alone, ...together]
  const advice = changes.length > 0 ? `Set ${changes.join(', or ')}.` : 'Train a smaller model.'
  return `${advice} "force": true starts it all the same.`
}

type Shortage = { isGpu: boolean; memory: TrainingMemory; available: number | null }

function adviceOn({ args, method }: Run, { isGpu, memory, available }: Shortage): string[] {
  const { activations, logits, weights } = memory.parts
  const shorter = method?.type === 'reinforcement' ? 'fewer max_completion_tokens' : 'a shorter max_length'
  return [
    ...(args.load_in_4bit ? [] : weights > memory.estimated / 2 ? ['Set load_in_4bit.'] : []),
    ...(args.gradient_checkpointing === true || activations < memory.estimated / 4
      ? []
      : ['Set gradient_checkpointing.']),
    ...(activations + logits < memory.estimated / 4 ? [] : [`Set a smaller batch_size, or ${shorter}.`]),
    ...(isGpu && mayShareBase({ args, method }) && weights > memory.estimated / 2
      ? ['Set shard_base, and more GPUs in gpu_config.gpus.']
      : []),
    `Or give the model more ${isGpu ? 'GPU memory' : 'memory'}: it has ${available} GiB.`,
  ]
}
