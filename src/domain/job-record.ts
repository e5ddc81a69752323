// The record of an ended job: what another installation needs to show it. A JSON object a line, the job first.
import { z } from 'zod'
import { isDatasetId } from './dataset-id.ts'
import { Graders } from './grader.ts'
import { learnedForms } from './learned.ts'
import { offeredMethods } from './method-table.ts'
import { isModelId } from './model-reference.ts'
import { ResponseFormat } from './response-format.ts'
import { maxGrammarCharacters, RewardGrader } from './reward-task.ts'
import { TrainingArgs } from './training-args.ts'
import { attemptPhases, isTerminal, trainingJobStatuses } from './training-job-status.ts'

/** Rises with each change that an older release cannot read. */
export const recordFormat = 1

const maxInt = 2 ** 31 - 1
const count = z.int().min(0).max(maxInt)
/** Attempts, generations and resumes have such numbers. Readers add to them, so they stay far below an integer's end. */
const ordinal = z.int().min(0).max(1_000_000)
const text = z.string().max(100_000)
const word = z.string().max(256)
const hash = z.string().regex(/^[0-9a-f]{64}$/)
const bytes = z.int().min(0)
const dayMs = 24 * 3_600_000
/** Another clock may be ahead. */
const time = z.iso
  .datetime()
  .transform((at) => new Date(at))
  .refine((at) => at.getUTCFullYear() >= 2000 && at.getTime() < Date.now() + dayMs, {
    error: 'must be a time from 2000 until now',
  })
const orNull = <T extends z.ZodType>(schema: T) => schema.nullable()

/** A version of a data set that is exported, too; null where it was deleted. */
const DataReference = z
  .strictObject({ datasetId: z.string().refine(isDatasetId), version: z.int().min(1).max(maxInt) })
  .nullable()
export type DataReference = z.infer<typeof DataReference>

export const adapterFileNames = ['adapter_model.safetensors', 'adapter_config.json', 'anneal.json'] as const

const ModelFiles = z
  .array(
    z.strictObject({
      name: z.enum(adapterFileNames),
      sizeBytes: bytes.min(1),
      sha256: hash,
    }),
  )
  .max(adapterFileNames.length)

const Method = z
  .strictObject({
    type: z.enum(offeredMethods),
    hyperparameters: z.record(word, z.union([z.number(), text, z.boolean()])),
    given: z.array(word).max(200),
    task: z
      .strictObject({
        grader: RewardGrader,
        response_format: ResponseFormat.optional(),
        grammar: z.string().max(maxGrammarCharacters).optional(),
      })
      .optional(),
  })
  .refine(({ type, task }) => (type === 'reinforcement') === (task !== undefined), {
    error: 'must have a task if it is reinforcement, and only then',
  })

const Spec = z.strictObject({
  baseModel: z.strictObject({
    name: word,
    source: z.record(word, text),
    contextLength: count,
    resources: z.object({ gpuCount: count.max(10_000) }).catchall(z.number()),
    sha256: hash.nullable(),
  }),
  args: TrainingArgs,
  givenArgs: z.array(word).max(200),
  gpus: orNull(count.max(10_000)),
  nodes: z.int().min(1).max(10_000),
  method: Method.optional(),
  shape: z.record(word, z.union([z.number(), z.boolean()])).optional(),
  skipBadRows: z.literal(true).optional(),
  evaluation: z
    .strictObject({
      graders: Graders.optional(),
      maxRows: count.optional(),
      maxTokens: count.optional(),
      asChat: z.boolean().optional(),
      system: text.optional(),
    })
    .optional(),
  metadata: z
    .record(z.string().max(64), z.string().max(512))
    .refine((pairs) => Object.keys(pairs).length <= 16, { error: 'must have at most 16 keys' })
    .optional(),
  startFrom: z.strictObject({ modelName: hash, jobId: count }).optional(),
  warnings: z.array(text).max(1000).optional(),
})

const Rows = z.strictObject({ sizeBytes: bytes, sha256: hash, rowCount: count })
const ReadColumns = z.strictObject({ input: orNull(word), output: word })

/** Without keys: no object of the rows is moved with the job. */
const Prepared = z.strictObject({
  train: Rows,
  evaluation: Rows.extend({ split: z.enum(['held_out', 'train']) }),
  columns: ReadColumns.optional(),
  sources: z
    .array(
      z.strictObject({
        rowCount: count,
        trainRows: count,
        heldOutRows: count,
        tokens: orNull(bytes),
        etag: text,
        columns: ReadColumns.optional(),
      }),
    )
    .max(16)
    .optional(),
  method: z.enum(offeredMethods).optional(),
  reader: count,
  learned: z.strictObject({ form: z.enum(learnedForms), systemMessage: orNull(text) }).optional(),
})

const interval = { mean: z.number(), low: z.number(), high: z.number() }
const Figures = z.strictObject({ ...interval, rows: count })
/** By grader. */
const JobScores = z.record(
  z.string(),
  z
    .strictObject({
      ...{ tuned: Figures, base: Figures, difference: z.strictObject(interval) },
      ...{ better: count, equal: count, worse: count },
    })
    .nullable(),
)

const Model = z.strictObject({
  name: z.string().refine(isModelId),
  files: ModelFiles,
  step: count,
  attempt: count,
  scores: orNull(JobScores),
  createdAt: time,
  /** Null without a custom name. */
  version: orNull(z.int().min(1).max(1_000_000)),
})

export const JobLine = z.strictObject({
  type: z.literal('job'),
  format: z.literal(recordFormat, { error: 'is of another release: import it with that release or a newer one' }),
  installation: z.uuid(),
  jobId: count.min(1),
  datasetId: word,
  data: DataReference,
  sources: orNull(z.array(z.strictObject({ datasetId: word, data: DataReference, weight: z.number() })).max(16)),
  /** False without evaluation rows of the caller. */
  evaluationData: z.union([z.literal(false), DataReference]),
  customModelName: orNull(word),
  isPublic: z.boolean(),
  status: z.enum(trainingJobStatuses).refine(isTerminal, { error: 'must be the status of an ended job' }),
  statusReason: orNull(word),
  statusMessage: orNull(text),
  spec: Spec,
  specHash: hash,
  preparedData: orNull(Prepared),
  generation: ordinal,
  currentAttempt: ordinal,
  resumeCount: ordinal,
  cancelRequestedAt: orNull(time),
  pauseRequestedAt: orNull(time),
  createdAt: time,
  finishedAt: time,
  model: orNull(Model),
})
export type JobLine = z.output<typeof JobLine>

const RowCounts = z.strictObject({
  ...{ rows: bytes, tokens: bytes, learned: bytes, cut: bytes, dropped: bytes, withoutEnd: bytes },
  isWhole: z.boolean(),
})

const AttemptLine = z.strictObject({
  type: z.literal('attempt'),
  number: ordinal,
  generation: ordinal,
  ordinal,
  mode: z.enum(['train', 'evaluate']),
  phase: orNull(z.enum(attemptPhases)),
  fromArtifactId: orNull(z.uuid()),
  fromStep: count,
  fromAt: orNull(time),
  lastStep: orNull(count),
  savedStep: orNull(count),
  savedAt: orNull(time),
  truncatedRows: orNull(count),
  rowCounts: orNull(RowCounts),
  reportedCause: orNull(word),
  cause: orNull(word),
  exitCode: orNull(z.int().min(-maxInt).max(maxInt)),
  message: orNull(text),
  createdAt: time,
  queuedAt: orNull(time),
  grantedAt: orNull(time),
  claimedAt: orNull(time),
  workingAt: orNull(time),
  heardAt: orNull(time),
  endedAt: orNull(time),
  fencedAt: orNull(time),
  releasedAt: orNull(time),
})

const figure = orNull(z.number())

const StepLine = z.strictObject({
  type: z.literal('step'),
  step: count,
  attempt: count,
  loss: z.number(),
  learningRate: z.number(),
  epoch: z.number(),
  iterTime: z.number(),
  flops: z.number(),
  remainingTime: z.number(),
  tokens: orNull(bytes),
  gradNorm: figure,
  tokensPerSecond: figure,
  tokenAccuracy: figure,
  validLoss: figure,
  validTokenAccuracy: figure,
  validRows: orNull(count),
  series: orNull(z.record(word, z.number()).refine((series) => Object.keys(series).length <= 200)),
  at: time,
})

const EventLine = z.strictObject({
  type: z.literal('event'),
  at: time,
  kind: z.enum(['status', 'command', 'attempt', 'note']),
  status: orNull(z.enum(trainingJobStatuses)),
  attempt: orNull(count),
  reason: orNull(word),
  message: orNull(text),
  actor: word,
})

/** The tuned model and the base each answer a row. */
const ofBoth = <T extends z.ZodType>(schema: T) => orNull(z.strictObject({ tuned: schema, base: schema }))

const Sample = z.strictObject({
  output_text: z.string().optional(),
  output_tools: z.array(z.json()).optional(),
  finish_reason: z.enum(['stop', 'length', 'tool_calls']),
})

const EvaluationLine = z.strictObject({
  type: z.literal('evaluation'),
  index: count,
  split: z.enum(['held_out', 'train']),
  input: z.string(),
  expected: z.string(),
  tuned: z.string(),
  base: z.string(),
  prefersChosen: ofBoth(z.boolean()),
  item: orNull(z.record(z.string(), z.json())),
  samples: ofBoth(Sample),
  scores: ofBoth(z.record(z.string(), figure)),
})

/** A line after the first one. */
export const RecordLine = z.discriminatedUnion('type', [AttemptLine, StepLine, EventLine, EvaluationLine])
export type RecordLine = z.output<typeof RecordLine>
export type LineOf<T extends RecordLine['type']> = Extract<RecordLine, { type: T }>
