// The columns of a file that hold what the trainer reads.
import { z } from 'zod'
import { named } from '../../kit/named-schemas.ts'

export const ReadColumns = z
  .object({
    input: z
      .string()
      .nullable()
      .describe('The column of the inputs; null when the whole text of the outputs is learned'),
    output: z.string().describe('The column of the outputs'),
  })
  .nullable()
  .describe('The columns that are read, of PUT /v1/data/{dataset_id}/columns; null: the names of the fields say it')

const ColumnName = z.string().min(1).max(256)
const Input = ColumnName.nullish().describe(
  'The column of the inputs. When absent, the trainer learns the whole text of the outputs',
)

export const ColumnMapping = named(
  'ColumnMapping',
  z.object({
    input: Input,
    output: ColumnName.describe('The column of the outputs'),
    dataset_id: z.string().nullish().describe('The id of the data set that is made; a new one when absent'),
  }),
)

export const ColumnReading = named(
  'ColumnReading',
  z.object({
    input: Input,
    output: ColumnName.nullish().describe(
      'The column of the outputs. Null: the names of the fields say what they hold',
    ),
  }),
)

export const ColumnsRead = named(
  'ColumnsRead',
  z.object({
    dataset_id: z.string().describe('The id of the data set'),
    version: z.int().describe('The version that is read so, the newest one'),
    read_columns: ReadColumns,
  }),
)

export const MappedDataset = named(
  'MappedDataset',
  z.object({
    dataset_id: z.string().describe('The id of the data set with the mapped rows'),
    dataset_location: z.url().describe('Where its rows are; send it as upload_file_path to train on it'),
    rows: z.int().describe('Number of its rows'),
  }),
)
