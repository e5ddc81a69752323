// Where a run of an eval takes its items from, and how a model is asked about them.
import { z } from 'zod'
import { evalRunLimits, type InputMessages } from '../../domain/eval-run.ts'
import { isReference } from '../../domain/item-template.ts'
import { ServiceError } from '../../domain/service-error.ts'
import type { Ctx } from '../../services/context.ts'
import type { CreateRunInput } from '../../services/eval-runs/create.ts'
import { validateBody } from '../kit/validation.ts'
import { ModelName } from '../lamini/schemas/prompt.ts'
import { ChatRequest } from './chat-schemas.ts'
import { TemplateMessages } from '../../domain/eval-criteria.ts'
import { chatOf, ResponseRequest } from './response-schemas.ts'
import { readShapes } from './shapes.ts'

const object = z.record(z.string(), z.unknown())

/** Its names are not looked at: 10,000 items may have half a million, which would take the main thread a tenth of a second. */
const part = z
  .custom<Record<string, unknown>>((value) => typeof value === 'object' && value !== null && !Array.isArray(value), {
    error: ({ input }) => (input === undefined ? 'is required' : 'must be an object'),
  })
  .meta({ type: 'object', propertyNames: { type: 'string' }, additionalProperties: {} })

const Item = z.strictObject({
  item: part.describe('What {{item}} names'),
  sample: part.optional().describe('What {{sample}} names, when no model is asked'),
})

const tooManyItems = `has more than ${evalRunLimits.items} items. Split it`

const kept = 'is not supported: stored chats and responses are no source. Use "file_content" or "file_id"'
const Source = z
  .discriminatedUnion(
    'type',
    [
      z.strictObject({
        type: z.literal('file_content').describe('Always file_content'),
        content: z.array(Item).min(1).max(evalRunLimits.items, tooManyItems).describe('The items'),
      }),
      z.strictObject({
        type: z.literal('file_id').describe('Always file_id'),
        id: z.string().max(64).describe('A file of JSON Lines with an item on each'),
      }),
    ],
    { error: kept },
  )
  .describe('The items: in the request, or in a file')

const Messages = z
  .discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('template').describe('Always template'),
      template: TemplateMessages.describe('The conversation; {{item.name}} stands for a part of the item'),
    }),
    z.strictObject({
      type: z.literal('item_reference').describe('Always item_reference'),
      item_reference: z
        .string()
        .max(256)
        .refine((text) => isReference(text) && text.startsWith('item'), { error: 'must be like item.messages' })
        .describe('The part of the item that is a list of messages'),
    }),
  ])
  .describe('The conversation that the model gets for each item')

const sampling = object.nullish().describe('How the model answers, in the words of its route')

export const DataSource = z.discriminatedUnion(
  'type',
  [
    z.strictObject({
      type: z.literal('jsonl').describe('Each item brings its sample, or none is needed'),
      source: Source,
    }),
    z.strictObject({
      type: z.literal('completions').describe('A model answers as /openai/v1/chat/completions'),
      source: Source,
      model: ModelName,
      input_messages: Messages,
      sampling_params: sampling,
    }),
    z.strictObject({
      type: z.literal('responses').describe('A model answers as /openai/v1/responses'),
      source: Source,
      model: ModelName,
      input_messages: Messages,
      sampling_params: sampling,
    }),
  ],
  { error: 'is not supported: use "jsonl", "completions" or "responses"' },
)
export type DataSource = z.output<typeof DataSource>

type Read = Pick<CreateRunInput, 'source' | 'sampling' | 'dataSource'>

/** @throws ServiceError invalid_input naming a parameter within data_source.sampling_params */
export async function readDataSource(ctx: Ctx, dataSource: DataSource, signal: AbortSignal): Promise<Read> {
  const { source } = dataSource
  const named = source.type === 'file_id' ? source : { type: source.type }
  return {
    source: source.type === 'file_id' ? { fileId: source.id } : { content: source.content },
    dataSource: { ...dataSource, source: named },
    sampling:
      dataSource.type === 'jsonl'
        ? null
        : {
            model: dataSource.model,
            messages: messagesIn(dataSource.input_messages),
            fields: await within('data_source.sampling_params', () => fieldsOf(ctx, dataSource, signal)),
          },
  }
}

const messagesIn = (messages: z.output<typeof Messages>): InputMessages =>
  messages.type === 'template' ? { template: messages.template } : { reference: messages.item_reference }

/** The parameters of a chat. Each is checked now, not when the first item is asked. */
async function fieldsOf(
  ctx: Ctx,
  { type, model, sampling_params: given }: Exclude<DataSource, { type: 'jsonl' }>,
  signal: AbortSignal,
) {
  const fields = type === 'completions' ? (given ?? {}) : fieldsOfResponses(given ?? {}, model)
  const asked = validateBody(ChatRequest, { ...fields, model, messages: [{ role: 'user', content: 'a' }] })
  if (asked.stream) throw notHere('stream')
  if ((asked.n ?? 1) > 1) throw notHere('n')
  await readShapes(ctx, asked, signal)
  return fields
}

function fieldsOfResponses({ seed, max_completion_tokens: limit, ...given }: Record<string, unknown>, model: string) {
  const asked = validateBody(ResponseRequest, { max_output_tokens: limit, ...given, model, input: 'a' })
  const { model: _model, messages: _messages, ...fields } = chatOf(asked)
  return { ...fields, ...(seed !== undefined && { seed }) }
}

const notHere = (path: string) =>
  new ServiceError('invalid_input', `${path} is not supported here: each item has one answer.`, {
    issues: [{ path, message: `${path} is not supported here: each item has one answer.` }],
  })

/** Names fields by their place in the request. */
async function within<T>(place: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ServiceError) || error.issues.length === 0) throw error
    const issues = error.issues.map(({ path, message }) => ({
      path: `${place}.${path}`,
      message: `${place}.${message}`,
    }))
    throw new ServiceError(error.code, issues[0]?.message ?? error.message, { issues })
  }
}
