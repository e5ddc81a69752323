// The report of a data set's check.
import { z } from 'zod'
import { offeredMethods } from '../../../domain/method-table.ts'
import { learnedForms } from '../../../domain/learned.ts'
import { named } from '../../kit/named-schemas.ts'
import { ReadColumns } from '../../lamini/schemas/data-columns.ts'

const Percentiles = z.object({
  p50: z.int().describe('Half of the texts are at most this long'),
  p90: z.int().describe('90 % of the texts are at most this long'),
  p99: z.int().describe('99 % of the texts are at most this long'),
  max: z.int().describe('The longest text'),
})
const Lengths = Percentiles.describe('In characters, with an error of up to 1.1 %')

const TokenLengths = z
  .object({
    tokenizer: z.string().describe('The base model whose tokenizer was used'),
    sampled_rows: z.int().describe('At most 1,000 rows, taken evenly, without rows longer than 200,000 characters'),
    input: Percentiles.describe('Tokens of the inputs'),
    output: Percentiles.describe('Tokens of the outputs'),
    histogram: z
      .array(
        z.object({
          up_to: z.int().describe('The most tokens of these rows; the entry before has the shorter rows'),
          rows: z.int().describe('Rows of the sample'),
        }),
      )
      .describe('Rows by the tokens of input and output together'),
  })
  .describe("Tokens of a sample, without special tokens; null when the model's tokenizer is not on the server")

export const DatasetReport = named(
  'DatasetReport',
  z.object({
    dataset_id: z.string().describe('The id of the data set'),
    dataset_location: z.url().describe('Where the upload is; send it as upload_file_path to train on it'),
    version: z.int().describe('The version that was checked; each upload makes the next one'),
    method: z.enum(offeredMethods).describe('The method of training that the rows were checked for'),
    state: z.enum(['empty', 'valid', 'invalid']).describe('empty: nothing was uploaded, or the file has no rows'),
    announced_rows: z
      .int()
      .nullable()
      .describe('The number of rows that the client announced; null without an announcement'),
    rows: z.int().describe('Number of rows, with the bad ones'),
    bytes: z.int().describe('Size of the upload'),
    bad_rows: z.int().describe('Number of rows that a job could not train on'),
    errors: z
      .array(
        z.object({
          line: z.int().describe('The line of the file, from 1'),
          field: z.string().describe('The field that is wrong'),
          reason: z.string().describe('What is wrong with the field'),
        }),
      )
      .describe('The first 100 bad rows'),
    error_groups: z
      .array(
        z.object({
          field: z.string().describe('The field that is wrong'),
          reason: z.string().describe('What is wrong with the field'),
          rows: z.int().describe('Number of rows with this mistake'),
          lines: z.array(z.int()).describe('The lines of the first five of them'),
        }),
      )
      .describe('All bad rows by field and reason: at most 50 groups, and one for all others'),
    skippable: z
      .boolean()
      .describe(
        'Whether a job with skip_bad_rows could train on the data: a good row remains, the file was read to its end, and at most 100,000 rows are bad',
      ),
    read_columns: ReadColumns,
    form: z
      .enum(learnedForms)
      .nullable()
      .describe('The form of most good rows, in which a model would learn them; null without rows'),
    unread_fields: z
      .array(
        z.object({
          field: z.string().describe('The name of the field'),
          rows: z.int().describe('Good rows in which the field holds something'),
          line: z.int().describe('The line of the first such row'),
        }),
      )
      .describe('Fields that training does not read: at most 50 names, and one entry for all others'),
    duplicates: z
      .int()
      .describe('Rows equal to an earlier row; only the first three million distinct rows are compared'),
    empty_outputs: z.int().describe('Number of rows whose output is empty'),
    input_length: Lengths,
    output_length: Lengths,
    token_length: TokenLengths.nullable(),
    checked_at: z.string().nullable().describe('When the upload was checked, in UTC; null before'),
  }),
)
