// The memory that a training takes, beside the memory of the model's trainers.
import type { CatalogueEntry } from '../../domain/catalogue.ts'
import type { DatasetReport } from '../../domain/dataset-report.ts'
import type { TrainingArgs } from '../../domain/training-args.ts'
import { trainingMemory, type TrainingMemory } from '../../domain/training-memory.ts'
import { samplesPerPrompt, type TrainingMethod } from '../../domain/training-method.ts'

type Input = {
  entry: CatalogueEntry
  args: TrainingArgs
  method: TrainingMethod | null
  gpuCount: number
  reports: readonly DatasetReport[]
  /** The share of the tokens that is learned; null when it is not known. */
  learned: number | null
}

export type MemoryEstimate = TrainingMemory & { available: number | null; fits: boolean | null; advice: string[] }

/** @returns null without the files of the model, or without tokens of the rows by its tokenizer */
export function estimateMemory({ entry, args, method, gpuCount, reports, learned }: Input): MemoryEstimate | null {
  const { shape, resources, contextLength } = entry
  const lengths = reports.map(({ tokenLength }) => tokenLength)
  if (!shape || lengths.some((each) => each?.tokenizer !== entry.name)) return null
  const longestRow = Math.max(...lengths.map((each) => (each ? each.input.max + each.output.max : 0)))
  const isGpu = gpuCount > 0
  const memory = trainingMemory({
    ...{ shape, args, isGpu },
    longest: Math.min(longestRow, args.max_length, contextLength),
    rowsPerStep: args.batch_size * args.gradient_accumulation_steps,
    learned: method?.type === 'reinforcement' ? 1 : (learned ?? 1),
    hasReference: method !== null && method.type !== 'supervised',
    sampling: samplingOf(method, contextLength),
  })
  const available = (isGpu ? resources.gpuMemoryGiB : resources.memoryGiB) ?? null
  // Without a GPU nothing tells the trainer that memory runs out: its passes stay as large.
  const needed = isGpu ? memory.least : memory.estimated
  const fits = available === null ? null : needed <= available
  return { ...memory, available, fits, advice: fits === false ? adviceOn(args, { isGpu, memory, available }) : [] }
}

function samplingOf(method: TrainingMethod | null, contextLength: number) {
  // A model server has memory of its own.
  if (method?.type !== 'reinforcement' || method.hyperparameters['rollouts'] === 'server') return null
  const most = Number(method.hyperparameters['max_completion_tokens'])
  return { answers: samplesPerPrompt(method.hyperparameters), tokens: Math.min(most, contextLength) }
}

type Shortage = { isGpu: boolean; memory: TrainingMemory; available: number | null }

function adviceOn(args: TrainingArgs, { isGpu, memory, available }: Shortage): string[] {
  const { activations, logits, weights } = memory.parts
  return [
    ...(args.load_in_4bit ? [] : weights > memory.estimated / 2 ? ['Set load_in_4bit.'] : []),
    ...(args.gradient_checkpointing === true || activations < memory.estimated / 4
      ? []
      : ['Set gradient_checkpointing.']),
    ...(activations + logits < memory.estimated / 4 ? [] : ['Set a smaller batch_size, or a shorter max_length.']),
    `Or give the model more ${isGpu ? 'GPU memory' : 'memory'}: it has ${available} GiB.`,
  ]
}
