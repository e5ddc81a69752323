// The set-up of the playground. It is in the address of the page; the texts are not.

export type Setup = {
  models: string[]
  temperature: string
  topP: string
  maxTokens: string
  seed: string
  /** Fields of a structured answer; none for text. */
  type: TypedField[]
  /** An id of stored rows that are put before the prompt. */
  rows: string
  /** '' asks each model as it learned, 'yes' and 'no' all of them in one way. */
  chat: string
}

/** `type` is a word of the API, or the allowed values as `red|white`. */
export type TypedField = { name: string; type: string }

/** Side by side. */
export const maxModels = 4

const names = {
  temperature: 'temperature',
  topP: 'top_p',
  maxTokens: 'max_tokens',
  seed: 'seed',
  rows: 'rows',
  chat: 'chat',
} as const

/** Links of an earlier release have 1 for a chat. */
const chatValues: Record<string, string> = { yes: 'yes', no: 'no', '1': 'yes' }

export function readSetup(search: string): Setup {
  const query = new URLSearchParams(search)
  const models = (query.get('models') ?? '').split(',').filter((name) => name !== '')
  const text = (name: string) => query.get(name) ?? ''
  return {
    models: models.slice(0, maxModels),
    temperature: text(names.temperature),
    topP: text(names.topP),
    maxTokens: text(names.maxTokens),
    seed: text(names.seed),
    type: readType(text('type')),
    rows: text(names.rows),
    chat: chatValues[text(names.chat)] ?? '',
  }
}

export function writeSetup({ models, type, ...rest }: Setup): string {
  const query = new URLSearchParams()
  if (models.length > 0) query.set('models', models.join(','))
  if (type.length > 0) query.set('type', writeType(type))
  for (const [field, name] of Object.entries(names)) {
    const value = rest[field as keyof typeof names]
    if (value !== '') query.set(name, value)
  }
  return query.toString()
}

/** `city:str,colour:red|white`; names and values are encoded. */
const writeType = (fields: readonly TypedField[]) =>
  fields.map(({ name, type }) => `${encodeURIComponent(name)}:${encodeURIComponent(type)}`).join()

function readType(text: string): TypedField[] {
  if (text === '') return []
  try {
    return text.split(',').map((part) => {
      const [name = '', type = ''] = part.split(':').map(decodeURIComponent)
      return { name, type }
    })
  } catch {
    return []
  }
}

/** The words of the API for the types of a field. */
export const types = ['str', 'int', 'float', 'bool']

/**
 * The output type of /v2; null for text.
 * @throws Error with a sentence about the field that is wrong
 */
export function outputType(fields: readonly TypedField[]): Record<string, string | string[]> | null {
  if (fields.length === 0) return null
  const named = new Map<string, string | string[]>()
  for (const { name, type } of fields) {
    if (name === '') throw new Error('A field of the structured answer has no name.')
    if (named.has(name)) throw new Error(`The structured answer has two fields “${name}”.`)
    if (type === '') throw new Error(`${name} has no values. Write them as red|white.`)
    named.set(name, types.includes(type) ? type : type.split('|'))
  }
  return Object.fromEntries(named)
}

const schemaTypes: Record<string, string> = { str: 'string', int: 'integer', float: 'number', bool: 'boolean' }

/** The same as OpenAI's `response_format`. @throws Error with a sentence about the field that is wrong */
export function responseFormat(fields: readonly TypedField[]): object | null {
  const type = outputType(fields)
  if (type === null) return null
  const properties = Object.entries(type).map(([name, each]) => [
    name,
    typeof each === 'string' ? { type: schemaTypes[each] } : { enum: each },
  ])
  const schema = { type: 'object', properties: Object.fromEntries(properties), required: Object.keys(type) }
  return {
    type: 'json_schema',
    json_schema: { name: 'answer', strict: true, schema: { ...schema, additionalProperties: false } },
  }
}

export type Sampling = { temperature?: number; top_p?: number; max_tokens?: number; seed?: number }

/** @throws Error with a sentence */
export function samplingOf({ temperature, topP, maxTokens, seed }: Setup): Sampling {
  const numbers = { temperature, top_p: topP, max_tokens: maxTokens, seed }
  const given = Object.entries(numbers).filter(([, text]) => text.trim() !== '')
  return Object.fromEntries(
    given.map(([name, text]) => {
      const value = Number(text)
      if (!Number.isFinite(value)) throw new Error(`Write a number for “${name}”: “${text}” is none.`)
      return [name, value]
    }),
  )
}
