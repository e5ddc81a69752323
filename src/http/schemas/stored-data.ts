import { z } from 'zod'
import { named } from '../framework/named-schemas.ts'
import { ModelName } from './prompt.ts'

const maxIdBytes = 256

/** What data is kept under. */
export const DataId = z
  .string()
  .refine(
    (id) => id !== '' && Buffer.byteLength(id) <= maxIdBytes && !id.includes('\0'),
    `must be 1 to ${maxIdBytes} bytes, without NUL characters`,
  )
  .meta({ description: `1 to ${maxIdBytes} bytes`, minLength: 1, maxLength: maxIdBytes })

/** Read by the service, item for item; null where an array was. */
const Items = z
  .custom<unknown>((value) => typeof value === 'object', 'must be a list of items, or one item')
  .meta({
    type: ['array', 'object'],
    description:
      'Items, or one: each with the same one or two named objects of texts, numbers and booleans. Of two, the first is an input and the second its output.',
    items: { type: 'object' },
  })

const DataType = z
  .record(z.string(), z.record(z.string(), z.string()))
  .describe('The objects and fields of the items, each field with a text that says what it means')

export const StoreDataRequest = named(
  'StoreDataRequest',
  z.object({
    id: DataId.nullish().describe('What to keep the data under'),
    model_name: ModelName.nullish().describe('Instead of an id: the model whose queries and training use it'),
    data: Items,
    data_type: DataType.nullish(),
  }),
)

export const StoreDataAnswer = named('StoreDataAnswer', z.object({ dataset: z.string().regex(/^[0-9a-f]{32}$/) }))

export const DeleteDataRequest = named('DeleteDataRequest', z.object({ id: DataId }))
export const DeleteDataAnswer = named('DeleteDataAnswer', z.object({ deleted: z.int().min(0) }))
