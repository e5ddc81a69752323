// Estimates the memory of a training at its peak from the shape of its model. The factors are those of ten trainings on a CPU
// (docs/lab/methods.md).
import type { TrainingArgs } from './training-args.ts'

/** Of a Llama-like decoder, as its config.json has it. */
export type ModelShape = {
  hiddenSize: number
  layers: number
  intermediateSize: number
  /** Heads of queries, and of keys and values, times their size. */
  queryWidth: number
  keyWidth: number
  vocabularySize: number
  sharesEmbeddings: boolean
}

type MemoryParts = {
  runtime: number
  weights: number
  optimizer: number
  activations: number
  logits: number
  reference: number
  sampler: number
}
/**
 * In GiB. `least`: with passes of a single row and gradient checkpointing, to which a trainer on a GPU falls back unless it shares
 * the base.
 */
export type TrainingMemory = { estimated: number; least: number; parts: MemoryParts }

type Run = {
  shape: ModelShape
  args: Pick<TrainingArgs, 'batch_size' | 'r_value' | 'load_in_4bit' | 'gradient_checkpointing'>
  isGpu: boolean
  /** Tokens of the longest row. */
  longest: number
  rowsPerStep: number
  /** The share of the tokens that is learned. */
  learned: number
  /** Whether checkpoints and steps hold the adapter of the start, too. */
  hasReference: boolean
  /** Answers to a prompt, and their most tokens; null unless the trainer samples. */
  sampling: { answers: number; tokens: number } | null
  /** Processes that share the base (base-sharding.ts); 1 when absent. */
  shares?: number
}

const gibibyte = 2 ** 30
/** Python with its libraries, and on a GPU the context of its driver. */
const runtimeGib = 0.8
/** Of a trained weight: itself, its gradient, and two moments of AdamW. */
const bytesOfTrained = 16
/** Of a logit: itself, a copy, and the gradients of both. */
const bytesOfLogit = 20
/** Numbers that a layer keeps for the backward pass, by token: so many times its two widths. */
const [keptHidden, keptIntermediate, keptMore] = [16, 5, 1.15]
/** A pass may always have so many tokens. runtime/anneal_runtime/trainer/forward.py has the same numbers. */
const comfortableTokens = { cpu: 4096, gpu: 8192 }
const mostSampledRows = 64

export function trainingMemory(run: Run): TrainingMemory {
  const { shape, args, isGpu, longest, rowsPerStep, sampling, shares = 1 } = run
  const row = longest + (sampling?.tokens ?? 0)
  const isShared = shares > 1
  const comfortable = isShared ? 0 : isGpu ? comfortableTokens.gpu : comfortableTokens.cpu
  const budget = Math.max(args.batch_size * row, comfortable)
  const rows = isShared ? Math.ceil(rowsPerStep / shares) : rowsPerStep
  const tokens = Math.max(row, Math.min(budget, rows * (sampling?.answers ?? 1) * row))
  const fixed = fixedParts(run)
  const passing = (count: number, isCheckpointing: boolean) => ({
    activations: keptBytes(shape, count, { isGpu, isCheckpointing }) / gibibyte,
    logits: (bytesOfLogit * count * run.learned * shape.vocabularySize) / gibibyte,
  })
  const { gradient_checkpointing: asked } = args
  const parts = { ...fixed, ...passing(tokens, asked === true || (isShared && asked !== false)) }
  const estimated = sum(parts)
  // A pass over a shared base cannot be repeated in parts.
  return { estimated, least: isShared ? estimated : sum({ ...fixed, ...passing(row, true) }), parts }
}

function fixedParts({ shape, args, isGpu, hasReference, sampling, longest, shares = 1 }: Run) {
  const bytes = isGpu ? 2 : 4
  const linear = shape.layers * sumOf(linearLayers(shape), ([input, output]) => input * output)
  const embedding = shape.vocabularySize * shape.hiddenSize * (shape.sharesEmbeddings ? 1 : 2)
  const adapter = shape.layers * sumOf(linearLayers(shape), ([input, output]) => (input + output) * (args.r_value ?? 8))
  // A layer and the embeddings are gathered while they compute.
  const gathered = shares === 1 ? 0 : (bytes * (linear / shape.layers + embedding)) / gibibyte
  const cached = sampling
    ? 2 * bytes * shape.layers * shape.keyWidth * (longest + sampling.tokens) * mostSampledRows
    : 0
  return {
    runtime: runtimeGib,
    // Double quantisation keeps a little more than 4 bits.
    weights: (linear * (args.load_in_4bit ? 0.53 : bytes) + embedding * bytes) / gibibyte / shares + gathered,
    optimizer: (adapter * bytesOfTrained) / gibibyte,
    reference: hasReference ? (adapter * 4) / gibibyte : 0,
    sampler: cached / gibibyte,
  }
}

/** Inputs and outputs of the linear layers of a decoder's layer, all of which have an adapter. */
const linearLayers = ({ hiddenSize: hidden, intermediateSize: inner, queryWidth, keyWidth }: ModelShape) =>
  [
    [hidden, queryWidth],
    [hidden, keyWidth],
    [hidden, keyWidth],
    [queryWidth, hidden],
    [hidden, inner],
    [hidden, inner],
    [inner, hidden],
  ] as const

function keptBytes(
  { layers, hiddenSize, intermediateSize }: ModelShape,
  tokens: number,
  { isGpu, isCheckpointing }: { isGpu: boolean; isCheckpointing: boolean },
): number {
  // On a GPU most of them are in bfloat16, those of the adapter in float32.
  const bytes = isGpu ? 2.5 : 4
  const ofLayer = keptMore * (keptHidden * hiddenSize + keptIntermediate * intermediateSize) * bytes * tokens
  return isCheckpointing ? layers * hiddenSize * bytes * tokens + 3 * ofLayer : layers * ofLayer
}

const sum = (parts: MemoryParts) => Object.values(parts).reduce((total, part) => total + part, 0)
const sumOf = <T>(each: readonly T[], of: (one: T) => number) => each.reduce((total, one) => total + of(one), 0)
