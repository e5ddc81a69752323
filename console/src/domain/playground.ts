// The set-up of the playground. It is in the address of the page; the texts are not.

export type Setup = {
  models: string[]
  temperature: string
  maxTokens: string
  seed: string
  /** Fields of a typed answer, as `city:str, stock:int`; empty for text. */
  type: string
  /** An id of stored rows that are put before the prompt. */
  rows: string
  /** Not empty: the prompt is sent as a message of a user, through the model's chat template. */
  chat: string
}

/** Side by side. */
export const maxModels = 4

const names = {
  temperature: 'temperature',
  maxTokens: 'max_tokens',
  seed: 'seed',
  type: 'type',
  rows: 'rows',
  chat: 'chat',
} as const

export function readSetup(search: string): Setup {
  const query = new URLSearchParams(search)
  const models = (query.get('models') ?? '').split(',').filter((name) => name !== '')
  const text = (name: string) => query.get(name) ?? ''
  return {
    models: models.slice(0, maxModels),
    temperature: text(names.temperature),
    maxTokens: text(names.maxTokens),
    seed: text(names.seed),
    type: text(names.type),
    rows: text(names.rows),
    chat: text(names.chat),
  }
}

export function writeSetup({ models, ...rest }: Setup): string {
  const query = new URLSearchParams()
  if (models.length > 0) query.set('models', models.join(','))
  for (const [field, name] of Object.entries(names)) {
    const value = rest[field as keyof typeof names]
    if (value !== '') query.set(name, value)
  }
  return query.toString()
}

/** The words of the API for the types of a field; other texts are lists of allowed values. */
const types = ['str', 'int', 'float', 'bool']

/**
 * `city:str, stock:int, colour:red|white` as an output type; null for text.
 * @throws Error with a sentence about the field that is wrong
 */
export function outputType(text: string): Record<string, string | string[]> | null {
  if (text.trim() === '') return null
  const fields = text.split(',').map((part) => {
    const at = part.indexOf(':')
    const [name, type] = [part.slice(0, at).trim(), part.slice(at + 1).trim()]
    if (at < 1 || name === '') throw new Error(`"${part.trim()}" names no type. Write it as name:str.`)
    if (types.includes(type)) return [name, type] as const
    if (type.includes('|')) return [name, type.split('|').map((value) => value.trim())] as const
    throw new Error(`${name}: the type must be ${types.join(', ')}, or values such as red|white.`)
  })
  return Object.fromEntries(fields)
}

export type Sampling = { temperature?: number; max_tokens?: number; seed?: number }

/** @throws Error with a sentence */
export function samplingOf({ temperature, maxTokens, seed }: Setup): Sampling {
  const numbers = { temperature, max_tokens: maxTokens, seed }
  const given = Object.entries(numbers).filter(([, text]) => text.trim() !== '')
  return Object.fromEntries(
    given.map(([name, text]) => {
      const value = Number(text)
      if (!Number.isFinite(value)) throw new Error(`${name} must be a number; it is "${text}".`)
      return [name, value]
    }),
  )
}
