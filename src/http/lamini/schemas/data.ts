import { z } from 'zod'
import { queryInt, queryText } from '../../kit/params.ts'
import { offeredMethods, trainingMethods } from '../../../domain/method-table.ts'
import { ReadColumns } from './data-columns.ts'
import { RowProblem, TokenSequences } from './row-tokens.ts'
import { named } from '../../kit/named-schemas.ts'
import { Time } from './training-job.ts'

export const DataRequest = named(
  'DataRequest',
  z.object({
    dataset_id: z.string().describe('1 to 128 letters, digits, ".", "_" or "-", beginning with a letter or digit'),
  }),
)

export const DataAnswer = named(
  'DataAnswer',
  z.object({
    upload_base_path: z.literal('s3').describe('Always s3, as clients of the old platform expect'),
    dataset_location: z.url().describe('Upload the file here with PUT; valid for at most two hours'),
    dataset_id: z.string().describe('The id of the data set, as the request gave it'),
  }),
)

const DatasetRef = z.string().min(1).max(256).describe('The id of a data set')

export const LocalDataRequest = named(
  'LocalDataRequest',
  z.object({
    upload_base_path: z.string().max(256).nullish().describe('Accepted and ignored'),
    data: z.array(z.object({})).nullish().describe('The rows, each an object; a gigabyte at most'),
    dataset_id: z.string().nullish().describe('A new id when absent'),
    is_public: z.boolean().nullish().describe('Kept, without effect: data is private to the account'),
  }),
)

export const LocalDataAnswer = named(
  'LocalDataAnswer',
  z.object({
    dataset_location: z.url().describe('Where the rows are; send it as upload_file_path to train on them'),
    dataset_id: z.string().describe('The id of the data set'),
  }),
)

export const ExistingDataRequest = named('ExistingDataRequest', z.object({ dataset_id: DatasetRef }))

export const ExistingDataAnswer = named(
  'ExistingDataAnswer',
  z.object({
    dataset_location: z.url().describe('Where the newest upload is; send it as upload_file_path to train on it'),
    upload_base_path: z.literal('s3').describe('Always s3, as clients of the old platform expect'),
    dataset_id: z.string().describe('The id of the data set'),
  }),
)

export const DatapointsRequest = named(
  'DatapointsRequest',
  z.object({
    dataset_id: DatasetRef,
    num_datapoints: z.int().min(0).max(2_147_483_647).describe('The number of rows that the client uploads'),
  }),
)

export const DatapointsAnswer = named(
  'DatapointsAnswer',
  z.object({
    dataset_id: z.string().describe('The id of the data set'),
    num_datapoints: z.int().describe('The number of rows that was announced'),
  }),
)

export const DatasetParams = z.object({ dataset_id: DatasetRef })

export const DatasetListQuery = z.strictObject({
  limit: queryInt({ min: 1, max: 1000 }).default(100).describe('Data sets of a page'),
  after: queryText().optional().describe('`next` of the previous page'),
})

const Version = z.object({
  version: z.int().describe('Each upload makes the next one'),
  file_name: z.string().nullable().describe('Of a file of /openai/v1/files'),
  created_at: Time,
  state: z
    .enum(['unchecked', 'empty', 'valid', 'invalid'])
    .describe('unchecked: neither a job nor GET /v1/data/{dataset_id} has read it yet'),
  rows: z.int().nullable().describe('Null before the first check'),
  bad_rows: z.int().nullable().describe('Number of rows that a job could not train on; null before the first check'),
  bytes: z.int().nullable().describe('Null before the size is known'),
  tokens: z.int().nullable().describe('Estimated from a sample of the rows'),
  job_ids: z.array(z.int()).describe('The newest ten jobs that train or evaluate on it, newest first'),
})

export const DatasetList = named(
  'DatasetList',
  z.object({
    datasets: z
      .array(
        Version.extend({
          dataset_id: z.string().describe('The id of the data set'),
          display_name: z.string().describe('The name of the newest file; the id where no file name is known'),
          version: z.int().describe('The newest version, which the other fields describe'),
          versions: z.int().describe('Number of versions'),
          job_ids: z.array(z.int()).describe('The newest ten jobs that train or evaluate on any version, newest first'),
        }),
      )
      .describe('The data sets of the page, by id'),
    next: z.string().nullable().describe('Send as `after` for more; null at the end'),
  }),
)

export const VersionsQuery = z.strictObject({
  limit: queryInt({ min: 1, max: 1000 }).default(100).describe('Versions of a page'),
  after: queryInt({ min: 1, max: 2_147_483_647 }).optional().describe('`next` of the previous page'),
})

export const DatasetVersions = named(
  'DatasetVersions',
  z.object({
    dataset_id: z.string().describe('The id of the data set'),
    versions: z.array(Version).describe('The versions of the page, the newest first'),
    next: z.int().nullable().describe('Send as `after` for more; null at the end'),
  }),
)

export const ReportQuery = z.strictObject({
  model_name: queryText()
    .optional()
    .describe(
      'The model whose tokens are counted, base or tuned. Absent: the one that was counted last, or the first base model of the catalogue',
    ),
  method: z
    .enum(offeredMethods)
    .optional()
    .describe(
      'The method of training that the rows are checked for. Absent: the one of the last check, or the first that takes one of the first rows',
    ),
})

const Method = z
  .enum(offeredMethods)
  .optional()
  .describe('The method of training that the rows are read for. Absent: the first that takes one of the first rows')

export const RowsQuery = z.strictObject({
  method: Method,
  tokens: z
    .enum(['true', 'false'])
    .optional()
    .describe(
      'true shows `sequences`: the rows as tokens, with what a training would learn of them. The server of the model encodes them, so the key needs the scope training, too. `limit` is then at most 20',
    ),
  train_on: z
    .enum(trainingMethods.supervised.hyperparameters.train_on.choices)
    .optional()
    .describe('With tokens=true: what of a row is learned, as in `method` of POST /v1/train'),
  max_length: queryInt({ min: 2, max: 10_000_000 })
    .optional()
    .describe('With tokens=true: as in `finetune_args` of POST /v1/train'),
  model_name: queryText()
    .optional()
    .describe(
      'The model whose tokenizer and chat template are used, base or tuned; the first base model of the catalogue when absent',
    ),
  as_chat: z
    .enum(['true', 'false'])
    .optional()
    .describe(
      '`chat_template` also shows pairs, as an evaluation asks for them. Absent: if model_name learned conversations',
    ),
  offset: queryInt({ min: 0, max: 1_000_000_000 })
    .default(0)
    .describe('Rows to skip. Rows beyond the first 256 MB of a file are not shown'),
  limit: queryInt({ min: 1, max: 100 }).default(20).describe('Rows of a page'),
  output_column: queryText()
    .optional()
    .describe('Shows the rows as they would be read with this column as the output. Changes nothing'),
  input_column: queryText().optional().describe('The column of the inputs beside output_column'),
})

export const DatasetRows = named(
  'DatasetRows',
  z.object({
    dataset_id: z.string().describe('The id of the data set'),
    version: z.int().describe('The version that the rows are from, the newest one'),
    rows: z
      .array(
        z.object({
          index: z.int().describe('Counts from 0'),
          line: z.int().describe('Of the file, from 1'),
          input: z.string().nullable().describe('As the trainer reads it; null for a bad row'),
          output: z.string().nullable().describe('The expected output; null for a bad row'),
          answers: z
            .array(
              z.object({
                text: z.string().describe('The answer, with the calls of functions'),
                good: z.boolean().describe('Whether the answer is the better one, or is judged as good'),
              }),
            )
            .nullable()
            .describe('The answers of a row of dpo or kto, the better one first; null for supervised rows'),
          sequences: TokenSequences,
          special_tokens: z
            .array(z.string())
            .describe(
              'The special tokens of the model that act in the input of a pair, each once; `finetune_args.special_tokens` switches them off. Elsewhere in a row they are text',
            ),
          messages: z
            .array(
              z.object({
                role: z.string().describe('system, user, assistant or tool'),
                text: z.string().describe('The content, with the calls of functions'),
                learned: z.boolean().describe('Whether the trainer learns this message'),
              }),
            )
            .nullable()
            .describe('The messages of a conversation up to the last that is learned; null for other rows'),
          chat_template: z
            .object({
              model_name: z.string().describe('The base model whose chat template this is'),
              sequences: z
                .array(
                  z.array(
                    z.object({
                      text: z.string().describe('A part of the text that the model reads'),
                      learned: z.boolean().describe('Whether the trainer learns this part'),
                      special_tokens: z
                        .array(
                          z.object({
                            from: z.int().describe('Of the first character, from 0, in UTF-16 units'),
                            to: z.int().describe('After the last character'),
                          }),
                        )
                        .describe('Where special tokens that act are in this text'),
                    }),
                  ),
                )
                .describe(
                  'The texts that the model reads. One, unless the template writes earlier answers in another way than the last',
                ),
              error: z.string().nullable().describe('Why the template does not take the conversation'),
            })
            .nullable()
            .describe(
              'The conversation as the chat template writes it; null for other rows (but see as_chat), for conversations with functions, for very long ones, and where the service does not hold the tokenizer of the model',
            ),
          cut: z
            .boolean()
            .describe(
              'Whether more than 10,000 characters of a text, of the messages or of `chat_template` were left out here',
            ),
          error: RowProblem.nullable().describe('Why the row is bad'),
        }),
      )
      .describe('The rows of the page, in the order of the file'),
    method: z.enum(offeredMethods).describe('The method of training that the rows were read for'),
    columns: z
      .array(z.string())
      .describe(
        'The first 100 names of fields that these rows have in the file; PUT /v1/data/{dataset_id}/columns says which are read',
      ),
    read_columns: ReadColumns,
    separator: z.string().nullable().describe('The sign between the cells of a CSV file; null for JSON'),
    proposed_columns: z
      .object({
        input: z.string().nullable().describe('The column of the inputs; null when there is none'),
        output: z.string().describe('The column of the outputs'),
        rows: z
          .array(
            z.object({
              line: z.int().describe('Of the file, from 1'),
              input: z.string().describe('The input; empty when there is no column of inputs'),
              output: z.string().describe('The output'),
            }),
          )
          .describe('Up to three rows of the page as they would be read'),
      })
      .nullable()
      .describe(
        'A guess for PUT /v1/data/{dataset_id}/columns. Null unless no row of the page can be read by the names of its fields',
      ),
    next: z.int().nullable().describe('Send as `offset` for more; null at the end'),
  }),
)

export const DatasetDeleted = named(
  'DatasetDeleted',
  z.object({
    dataset_id: z.string().describe('The id of the data set'),
    deleted: z.int().describe('Number of versions that were deleted'),
  }),
)

export const UploadBasePath = named(
  'UploadBasePath',
  z.object({ upload_base_path: z.literal('s3').describe('Always s3, as clients of the old platform expect') }),
)
