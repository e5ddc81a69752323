import { z } from 'zod'
import { named } from '../framework/named-schemas.ts'
import { DataId } from './stored-data.ts'
import { ModelName, Prompt } from './prompt.ts'

const TokenCount = z.int().min(1).max(1_000_000).nullish()

const stopText = z.string().min(1).max(1000)

/** Read by the domain, which refuses names that a schema library would drop in silence. */
const OutputType = named(
  'OutputType',
  z.unknown().meta({
    type: ['object', 'null'],
    description: 'Field names, each with str, int, float, bool or a list of the values that it may have',
    additionalProperties: { anyOf: [{ type: 'string' }, { type: 'array', items: {} }] },
  }),
)

export const CompletionRequest = named(
  'CompletionRequest',
  z.object({
    model_name: ModelName,
    id: DataId.nullish().describe('Rows stored under it are put before the prompts that they matter to'),
    prompt: Prompt,
    output_type: OutputType.optional(),
    out_type: OutputType.optional(),
    max_tokens: TokenCount,
    max_new_tokens: TokenCount,
    temperature: z.number().min(0).max(100).nullish(),
    top_p: z.number().min(1e-9).max(1).nullish(),
    seed: z.int().nullish(),
    stop: z
      .union([stopText, z.array(stopText).max(16)], { error: 'must be a text or a list of at most 16 texts' })
      .nullish(),
  }),
)
export type CompletionRequest = z.infer<typeof CompletionRequest>

export const Completion = named(
  'Completion',
  z.record(z.string(), z.unknown()).describe('{"output": text}, or exactly the asked fields'),
)

export const CompletionAnswer = named('CompletionAnswer', z.union([Completion, z.array(Completion)]))

export const CompletionList = named(
  'CompletionList',
  z.object({ outputs: z.array(Completion), finish_reason: z.array(z.string()) }),
)

export const StreamingCompletionAnswer = named(
  'StreamingCompletionAnswer',
  z.union([
    Completion,
    z.array(Completion),
    z.object({ server: z.null(), status: z.array(z.boolean()), data: z.array(Completion) }),
  ]),
)
