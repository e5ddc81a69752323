import { z } from 'zod'
import { ModelSource } from '../../domain/catalogue.ts'
import { TrainingArgs } from '../../domain/training-args.ts'
import { attemptPhases } from '../../domain/training-job-status.ts'
import { ArtifactFile } from './artifact.ts'

export const Done = z.object({})

/** Text that a program or a model wrote. It may hold anything; the database refuses NUL and broken Unicode. */
const writtenText = (mostCharacters: number) =>
  z
    .string()
    .transform((text) => text.slice(0, mostCharacters).toWellFormed().replaceAll('\0', '\u{fffd}'))
    .pipe(z.string())

export const ClaimRequest = z.object({
  claim_id: z.uuid(),
  runtime_version: z.string().max(64),
  hostname: writtenText(256),
  device: writtenText(256),
})

const DataSplit = z.enum(['held_out', 'train'])
const Sha256 = ArtifactFile.shape.sha256
const DataFile = z.object({ url: z.string(), size: z.int().min(0), sha256: Sha256 })
const RowsFile = DataFile.extend({
  rows: z.int().min(0),
  lines: DataFile.optional().describe('The line of the upload that each row comes from; absent for old jobs'),
})
const SavedArtifact = z.object({
  id: z.uuid(),
  step: z.int32().min(0),
  files: z.array(ArtifactFile.extend({ url: z.string() })),
})

export const ClaimAnswer = z.object({
  job_id: z.int(),
  attempt: z.int(),
  mode: z.enum(['train', 'evaluate']),
  base_model: z.object({ name: z.string(), source: ModelSource, sha256: Sha256.nullable() }),
  spec_hash: z.string(),
  args: TrainingArgs,
  method: z
    .looseObject({ type: z.string() })
    .optional()
    .describe('As a job shows its method, with every hyperparameter that a trainer reads; absent for supervised'),
  grader: z
    .object({
      names: z.array(z.string()).describe('Of the graders, as grades and series have them'),
      needs: z.array(z.string()).describe('What the graders read of a sample and of its item'),
    })
    .optional()
    .describe('Of a job of reinforcement'),
  grammar: z.string().optional().describe('The form of its structured answers, as model servers read grammars'),
  rollouts: z
    .array(z.object({ step: z.int32(), files: SavedArtifact.shape.files }))
    .optional()
    .describe('Committed answers and rewards of reinforcement that the attempt may still need, by step'),
  data: z.object({
    train: RowsFile,
    evaluation: RowsFile.extend({ split: DataSplit }),
    sources: z.array(z.string()).optional().describe('Names of several data sets; a row has the place of its own'),
    weights: z.array(z.number()).optional().describe('How often each of them is visited beside the others'),
  }),
  evaluation: z
    .object({
      max_rows: z.int().nullable(),
      max_tokens: z.int().nullable(),
      as_chat: z.boolean().optional().describe('Rows without messages are asked as chats, with `system` before them'),
      system: z.string().nullable().optional(),
    })
    .optional(),
  checkpoint: SavedArtifact.nullable(),
  model: SavedArtifact.nullable(),
  start: z
    .object({ model_name: z.string(), files: SavedArtifact.shape.files })
    .optional()
    .describe('The tuned model whose adapter the training continues'),
})

export const PhaseRequest = z.object({ phase: z.enum(attemptPhases) })

/** The sentence of a program that fetches or converts its base model. */
export const LoadingRequest = z.object({ message: writtenText(500) })

/** Null or absent where it was not measured. */
const measured = (value: z.ZodNumber | z.ZodInt32) => value.nullish().transform((sent) => sent ?? undefined)

const measuredSeries = (named: Record<string, number | null>) =>
  Object.fromEntries(Object.entries(named).filter((entry): entry is [string, number] => entry[1] !== null))

export const StepsRequest = z.object({
  steps: z
    .array(
      z.object({
        step: z.int32().min(0),
        loss: z.number(),
        learning_rate: z.number(),
        epoch: z.number(),
        iter_time: z.number(),
        flops: z.number(),
        remaining_time: z.number(),
        tokens: measured(z.int().min(0)),
        grad_norm: measured(z.number()),
        tokens_per_second: measured(z.number()),
        token_accuracy: measured(z.number()),
        valid_loss: measured(z.number()),
        valid_token_accuracy: measured(z.number()),
        valid_rows: measured(z.int32().min(1)),
        series: z
          .record(
            z.string().regex(/^[A-Za-z0-9_/]{1,100}(\/[A-Za-z0-9][A-Za-z0-9._-]{0,127})?$/),
            z.number().nullable(),
          )
          // Ten graders have three each, 16 data sets two.
          .refine((named) => Object.keys(named).length <= 96, 'must have at most 96 names')
          .optional()
          .transform((named) => named && measuredSeries(named))
          .describe(
            'Figures that only some methods have, by their names in TRL, and those of each of several data sets',
          ),
      }),
    )
    .max(1000),
})

const EvaluatedSample = z
  .object({
    output_text: writtenText(1_000_000).optional(),
    output_tools: z.array(z.unknown()).optional(),
    finish_reason: z.enum(['stop', 'length', 'tool_calls']),
  })
  .transform(({ output_text: text, output_tools: tools, ...sample }) => ({
    ...sample,
    ...(text !== undefined && { output_text: text }),
    ...(tools && { output_tools: tools }),
  }))

export const EvaluationRequest = z.object({
  split: DataSplit,
  results: z.array(
    z.object({
      input: writtenText(1_000_000),
      expected: writtenText(1_000_000),
      tuned: writtenText(1_000_000),
      base: writtenText(1_000_000),
      prefers_chosen: z
        .object({ tuned: z.boolean(), base: z.boolean() })
        .optional()
        .describe('Whether each model finds the better answer of a pair likelier; absent for a row that is no pair'),
      item: z.record(z.string(), z.unknown()).optional().describe('Of a prompt: what its graders read'),
      samples: z
        .object({ tuned: EvaluatedSample, base: EvaluatedSample })
        .optional()
        .describe(
          'Of a prompt: what graders read of both answers beside their text. output_text stands where function calls are a part of that text',
        ),
    }),
  ),
})

const Counted = z.int().min(0)

const RowCounts = z
  .object({
    rows: Counted,
    tokens: Counted,
    learned: Counted,
    cut: Counted,
    dropped: Counted,
    without_end: Counted,
    complete: z.boolean(),
  })
  .transform(({ without_end: withoutEnd, complete: isWhole, ...counts }) => ({ ...counts, withoutEnd, isWhole }))

export const NotesRequest = z.object({
  notes: z.array(z.object({ code: z.string().regex(/^[a-z0-9_]{1,64}$/), message: writtenText(2000) })).max(100),
  truncated_rows: measured(z.int32().min(0)),
  row_counts: RowCounts.optional(),
})

export const FailureRequest = z.object({
  cause: z.enum([
    ...['data_error', 'model_unavailable', 'code_error', 'out_of_memory', 'evaluation_error'],
    ...['grader_failed', 'grader_away', 'sampler_away'],
  ] as const),
  message: writtenText(2000),
})
