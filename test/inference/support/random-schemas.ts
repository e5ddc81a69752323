// Random JSON schemas: what OpenAI's strict mode takes, some shapes that libraries write, and now and then a keyword that has
// to be refused.
import type { Random } from './random.ts'
import { randomText } from './random-types.ts'

type Schema = Record<string, unknown>

const patterns = [
  '^[a-z]+$',
  '^\\d{3}-\\d{4}$',
  'a|b',
  '^[^"\\\\]*$',
  '^(?:yes|no)?$',
  '^\\w+@\\w+\\.com$',
  '^.{2,5}$',
  '[\\s\\S]',
  '^[A-Z]{2}[0-9]*$',
]
const formats = ['date', 'time', 'date-time', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid', 'uri']
const notSupported = [
  { not: { type: 'string' } },
  { type: 'array', items: { type: 'string' }, uniqueItems: true },
  { type: 'object', patternProperties: { '^a': { type: 'string' } } },
  { type: 'string', format: 'color' },
  { type: 'string', pattern: '^(?=a)' },
  { allOf: [{ type: 'string' }, { minLength: 2 }] },
  { type: 'array', contains: { type: 'integer' } },
  { if: { type: 'string' } },
  { type: 'string', contentEncoding: 'base64' },
]

/** `$defs` holds a list that refers to itself and a small enum. */
export function randomSchema(random: Random): Schema {
  const link = { anyOf: [{ $ref: '#/$defs/item' }, { type: 'null' }] }
  const item = object(random, { value: randomPart(random, 1), next: link }, true)
  const $defs = { item, color: { type: 'string', enum: ['red', 'white', randomText(random, 6)] } }
  return { ...randomObject(random, 3), $defs }
}

function randomPart(random: Random, depth: number): Schema {
  if (random.below(60) === 0) return random.pick(notSupported)
  const leaf = random.pick([randomString, randomInteger, randomNumber, randomChoice, reference, named])
  return depth === 0
    ? leaf(random)
    : random.pick([leaf, leaf, randomObject, randomArray, randomUnion, randomMap])(random, depth - 1)
}

function randomObject(random: Random, depth = 1): Schema {
  const names = new Set(
    random.list(
      1 + random.below(4),
      () => random.pick(['name', 'id', 'größe', 'a/b', '', '"q"', '</s>']) + randomText(random, 3),
    ),
  )
  return object(
    random,
    Object.fromEntries([...names].map((name) => [name, randomPart(random, depth)])),
    random.below(2) === 0,
  )
}

function object(random: Random, properties: Schema, isStrict: boolean): Schema {
  const names = Object.keys(properties)
  const required = isStrict ? names : names.filter(() => random.below(2) === 0)
  return { type: 'object', properties, required, ...(isStrict && { additionalProperties: false }) }
}

const reference = (): Schema => ({ $ref: '#/$defs/color', description: 'as defined' })
const named = (random: Random): Schema => ({
  type: random.pick(['boolean', 'null', ['string', 'null'], ['integer', 'boolean']]),
})

function randomArray(random: Random, depth: number): Schema {
  const minItems = random.below(3)
  const bounds = random.pick([
    {},
    { minItems },
    { maxItems: minItems + 3 },
    { minItems, maxItems: minItems + random.below(3) },
  ])
  if (random.below(5) > 0) return { type: 'array', items: randomPart(random, depth), ...bounds }
  const prefixItems = random.list(2, () => randomPart(random, depth))
  return {
    type: 'array',
    prefixItems,
    ...random.pick([
      { items: false, minItems: 2 },
      { items: randomPart(random, depth), maxItems: 4 },
    ]),
  }
}

function randomUnion(random: Random, depth: number): Schema {
  if (random.below(3) > 0) return { anyOf: random.list(1 + random.below(3), () => randomPart(random, depth)) }
  return {
    oneOf: ['cat', 'dog'].map((kind) => object(random, { kind: { const: kind }, of: randomPart(random, depth) }, true)),
    discriminator: { propertyName: 'kind' },
  }
}

const randomMap = (random: Random, depth: number): Schema =>
  random.pick<Schema>([
    { type: 'object', additionalProperties: randomPart(random, depth) },
    {
      type: 'object',
      additionalProperties: { type: 'integer' },
      propertyNames: { pattern: '^[a-z]+$' },
      minProperties: 1,
    },
    {},
    { $ref: '#/$defs/item' },
  ])

function randomString(random: Random): Schema {
  const minLength = random.below(4)
  return random.pick<Schema>([
    { type: 'string' },
    { type: 'string', minLength },
    { type: 'string', minLength, maxLength: minLength + random.below(6) },
    { type: 'string', pattern: random.pick(patterns) },
    { type: 'string', pattern: random.pick(patterns), minLength, maxLength: 8 + random.below(20) },
    { type: 'string', format: random.pick(formats) },
  ])
}

function randomInteger(random: Random): Schema {
  const minimum = random.below(2000) - 1000
  return random.pick<Schema>([
    { type: 'integer' },
    { type: 'integer', minimum },
    { type: 'integer', maximum: minimum },
    { type: 'integer', minimum, maximum: minimum + random.below(300) },
    { type: 'integer', exclusiveMinimum: minimum, exclusiveMaximum: minimum + 2 + random.below(1e6) },
    { type: 'integer', minimum: 0, maximum: 10_000, multipleOf: 2 + random.below(40) },
  ])
}

function randomNumber(random: Random): Schema {
  const minimum = Math.round((random.fraction() - 0.5) * 10 ** random.below(6)) / 100
  return random.pick<Schema>([
    { type: 'number' },
    { type: 'number', minimum },
    { type: 'number', exclusiveMaximum: minimum },
    { type: 'number', minimum, exclusiveMaximum: minimum + 0.5 },
    { type: 'number', multipleOf: 0.01 },
    { type: 'number', minimum: 0, maximum: 1 },
  ])
}

const randomChoice = (random: Random): Schema =>
  random.pick<Schema>([
    { const: random.pick([null, 3, randomText(random, 5), { a: [1, { b: null }] }]) },
    { enum: [randomText(random, 5), random.below(1000), 2.5, null, true, ['x']] },
    { type: 'integer', enum: [1, 'a', 20] },
  ])
