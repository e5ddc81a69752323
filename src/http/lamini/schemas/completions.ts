import { z } from 'zod'
import { keepsEmpty } from '../../kit/empty-fields.ts'
import { named } from '../../kit/named-schemas.ts'
import { DataId } from './stored-data.ts'
import { AsChat, ModelName, Prompt, SpecialTokens, SystemMessage } from './prompt.ts'

const TokenCount = z
  .int()
  .min(1)
  .max(1_000_000)
  .nullish()
  .describe(
    'The most tokens of an answer. The context of the model ends the answer earlier. Of max_tokens and max_new_tokens the smaller one counts',
  )

const stopText = z.string().min(1).max(1000)

/** Validated in domain/output-type.ts, which refuses names that zod would silently drop. */
const OutputType = named(
  'OutputType',
  z.unknown().meta({
    type: ['object', 'null'],
    description: 'Field names, each with str, int, float, bool or a list of the allowed values',
    additionalProperties: { anyOf: [{ type: 'string' }, { type: 'array', items: {} }] },
  }),
)

export const CompletionRequest = named(
  'CompletionRequest',
  z.object({
    model_name: ModelName,
    id: DataId.nullish().describe('An id of POST /v1/svc/data: its relevant rows are put before each prompt'),
    prompt: Prompt,
    special_tokens: SpecialTokens,
    as_chat: AsChat,
    system: SystemMessage,
    // Old SDKs are recognised by the null in these fields.
    output_type: keepsEmpty(OutputType.optional()),
    out_type: keepsEmpty(OutputType.optional()),
    max_tokens: keepsEmpty(TokenCount.clone()),
    max_new_tokens: TokenCount,
    temperature: z
      .number()
      .min(0)
      .max(100)
      .nullish()
      .describe('0 picks the likeliest token each time; higher values vary more. Default 0'),
    top_p: z
      .number()
      .min(1e-9)
      .max(1)
      .nullish()
      .describe('Only the likeliest tokens that together have this probability; all when absent'),
    seed: z.int().nullish().describe('The same seed gives the same answer to the same request'),
    stop: z
      .union([stopText, z.array(stopText).max(16)], { error: 'must be a string or a list of at most 16 strings' })
      .nullish()
      .describe('Texts that end an answer; the text itself is left out'),
  }),
)
export type CompletionRequest = z.infer<typeof CompletionRequest>

export const CompletionListRequest = named(
  'CompletionListRequest',
  z.object({
    ...CompletionRequest.shape,
    include_rows: z
      .boolean()
      .nullish()
      .describe('true: the answer also has `rows`, the stored rows that were put before each prompt'),
  }),
)

export const Completion = named(
  'Completion',
  z.record(z.string(), z.unknown()).describe('{"output": text}, or exactly the fields of output_type'),
)

export const CompletionAnswer = named('CompletionAnswer', z.union([Completion, z.array(Completion)]))

export const CompletionList = named(
  'CompletionList',
  z.object({
    outputs: z.array(Completion).describe('The answers, in the order of the prompts'),
    finish_reason: z.array(z.string()).describe('Why each answer ended: stop or length'),
    rows: z
      .array(z.array(z.string()))
      .optional()
      .describe('With include_rows: the stored rows that were put before each prompt, the most similar one first'),
  }),
)

export const StreamingCompletionAnswer = named(
  'StreamingCompletionAnswer',
  z.union([
    Completion,
    z.array(Completion),
    z.object({
      server: z.null().describe('Always null'),
      status: z.array(z.boolean()).describe('Whether each prompt is finished, in the order of the prompts'),
      data: z.array(Completion).describe('The answers so far, in the order of the prompts'),
    }),
  ]),
)
