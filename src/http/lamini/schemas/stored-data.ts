import { z } from 'zod'
import { named } from '../../kit/named-schemas.ts'
import { ModelName } from './prompt.ts'

const maxIdBytes = 256

/** The id that rows are stored under. */
export const DataId = z
  .string()
  .refine(
    (id) => id !== '' && Buffer.byteLength(id) <= maxIdBytes && !id.includes('\0'),
    `must be 1 to ${maxIdBytes} bytes, without NUL characters`,
  )
  .meta({ description: `1 to ${maxIdBytes} bytes`, minLength: 1, maxLength: maxIdBytes })

/** Validated by the service, item by item. An array is streamed, and null in the body. */
const Items = z
  .custom<unknown>((value) => typeof value === 'object', 'must be a list of items, or one item')
  .meta({
    type: ['array', 'object'],
    description:
      'A list of items, or one item. Every item has the same one or two named objects, whose fields are strings, numbers or booleans. With two objects, the first is the input and the second the output.',
    items: { type: 'object' },
  })

const DataType = z
  .record(z.string(), z.record(z.string(), z.string()))
  .describe('The objects and fields of the items, each field with a text that says what it means')

export const StoreDataRequest = named(
  'StoreDataRequest',
  z.object({
    id: DataId.nullish().describe('The id to store the rows under'),
    model_name: ModelName.nullish().describe('Instead of an id: completions and training of this model use the rows'),
    data: Items,
    data_type: DataType.nullish(),
  }),
)

export const StoreDataAnswer = named(
  'StoreDataAnswer',
  z.object({
    dataset: z
      .string()
      .regex(/^[0-9a-f]{32}$/)
      .describe('A hash of the stored rows'),
  }),
)

export const DeleteDataRequest = named('DeleteDataRequest', z.object({ id: DataId }))
export const DeleteDataAnswer = named(
  'DeleteDataAnswer',
  z.object({ deleted: z.int().min(0).describe('Number of rows that were deleted') }),
)
