import { z } from 'zod'
import { attemptPhases } from '../../domain/training-job-status.ts'

export const Done = z.object({})

/** What a program or a model wrote: anything may be in it, and the database takes neither NUL nor broken Unicode. */
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

export const PhaseRequest = z.object({ phase: z.enum(attemptPhases) })

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
      }),
    )
    .max(1000),
})

export const EvaluationRequest = z.object({
  split: z.enum(['held_out', 'train']),
  results: z.array(
    z.object({
      input: writtenText(1_000_000),
      expected: writtenText(1_000_000),
      tuned: writtenText(1_000_000),
      base: writtenText(1_000_000),
    }),
  ),
})

export const NotesRequest = z.object({
  notes: z.array(z.object({ code: z.string().regex(/^[a-z0-9_]{1,64}$/), message: writtenText(2000) })).max(100),
})

export const FailureRequest = z.object({
  cause: z.enum(['data_error', 'model_unavailable', 'code_error', 'out_of_memory', 'evaluation_error']),
  message: writtenText(2000),
})
