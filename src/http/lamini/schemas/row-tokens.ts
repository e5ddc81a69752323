// Rows as tokens, with what a training learns of them.
import { z } from 'zod'
import type { RowSequence, ShownTokens, TokenizedRow, TokenTotals } from '../../../domain/row-tokens.ts'
import { named } from '../../kit/named-schemas.ts'

export const RowProblem = z.object({
  field: z.string().describe('The field that is wrong'),
  reason: z.string().describe('What is wrong with the field'),
})

export const TokenSequences = z
  .array(
    named(
      'TokenSequence',
      z.object({
        role: z
          .enum(['text', 'answer', 'chosen', 'rejected', 'desirable', 'undesirable', 'prompt'])
          .describe('What the sequence teaches'),
        tokens: z
          .array(z.string())
          .describe('The texts of the tokens. All sequences of an answer show at most 32,768 tokens together'),
        ids: z.array(z.int()).describe('The ids of these tokens'),
        length: z.int().describe('Tokens of the sequence, also those that are not shown'),
        trained_spans: z
          .array(z.array(z.int()).length(2))
          .describe('The learned parts, each from its first token to the one after its last'),
        learned: z.int().describe('Tokens in these parts'),
        replaced: z
          .array(
            z.object({
              index: z.int().describe('The position of the token'),
              id: z.int().describe('The token that is learned there'),
              token: z.string().describe('Its text'),
            }),
          )
          .describe(
            'Learned tokens in place of those of the sequence: an answer is learned with its end token, whatever the chat template writes after it',
          ),
        truncated: z.boolean().describe('Whether the sequence was cut to max_length'),
        dropped: z.boolean().describe('Whether its row is left out, because it is longer than max_length'),
        has_end: z.boolean().describe('Whether the answer still has its end token'),
      }),
    ),
  )
  .nullable()
  .describe(
    'What the trainer reads of the row. A conversation has one sequence, and one more for each answer whose prompt the chat template writes in another way there. Null for a bad row, and for one of more than 500,000 characters, where a conversation counts once for each of its answers',
  )

export const PreviewedTokens = z.object({
  dataset_id: z.string().optional().describe('The data set of the row; absent where the request names one set'),
  line: z.int().describe('The line of the file, from 1'),
  sequences: TokenSequences,
  error: RowProblem.nullable().describe('Why the row cannot be learned'),
})

export const PreviewTotals = z
  .object({
    rows: z.int().describe('Rows that were counted'),
    tokens: z.int().describe('Tokens of the rows that are not left out'),
    learned: z.int().describe('Those of them that are learned'),
    bad: z.int().describe('Rows that cannot be learned'),
    cut: z.int().describe('Rows that are cut to max_length'),
    dropped: z.int().describe('Rows that are left out, because they are longer than max_length'),
    without_end: z.int().describe('Rows with an answer whose end token is cut away'),
    complete: z
      .boolean()
      .describe(
        'Whether all rows of the data were counted: at most 500, and about a million characters, where a conversation counts once for each of its answers',
      ),
  })
  .describe('Of the first rows, counted with the tokenizer of the model')

const nothingShown: ShownTokens = { ids: [], tokens: [], trained_spans: [], replaced: [] }

export const sequencesOnWire = (sequences: readonly RowSequence[] | null) =>
  sequences &&
  sequences.map(({ role, length, learned, truncated, dropped, ended, shown = nothingShown }) => ({
    ...{ role, ...shown, length, learned, truncated, dropped, has_end: ended },
  }))

export const tokensOnWire = ({ set, line, sequences, error }: TokenizedRow & { set?: string }) => ({
  ...(set !== undefined && { dataset_id: set }),
  line,
  sequences: sequencesOnWire(sequences),
  error,
})

export const totalsOnWire = ({ withoutEnd, areAll, ...counts }: TokenTotals) => ({
  ...counts,
  without_end: withoutEnd,
  complete: areAll,
})
