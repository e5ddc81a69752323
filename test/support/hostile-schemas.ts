// Schemas that are short to write and long to read, to write as a grammar, or to check an answer against; and grammars like them.

const named = <T>(count: number, of: (index: number) => T) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, of(index)]))
const listOf = <T>(length: number, of: (index: number) => T) => Array.from({ length }, (_, index) => of(index))

/** Each pattern has nearly the most states that a pattern may have. */
export const patterns = (count: number) => ({
  type: 'object',
  properties: named(count, (index) => ({ type: 'string', pattern: `^(|a{999}b{999}c{999}d{${600 + index}})$` })),
})

/** Each item of an answer is checked against each pattern before it fits the last alternative. */
export const patternsOfItems = (count: number) => ({
  type: 'array',
  minItems: 20,
  items: {
    anyOf: [
      ...listOf(count, (index) => ({ type: 'string', pattern: `^(|.{1,980}.{1,980}x{${index}}z)$` })),
      { type: 'string', minLength: 40 },
    ],
  },
})

/** References that are read from the last to the first, with a list of values at their end. */
export const backwardChain = (length: number, values: number) => ({
  $defs: named(length, (index) =>
    index === 0
      ? { enum: listOf(values, (at) => at) }
      : { type: 'array', minItems: 1, maxItems: 1, items: { $ref: `#/$defs/p${index - 1}` } },
  ),
  type: 'object',
  properties: named(Math.floor(length / 20), (index) => ({ $ref: `#/$defs/p${index * 20 + 19}` })),
})

/** Two references at each level: 2 to the power of `levels` ways to the same node. */
export const branching = (levels: number) => ({
  $defs: named(levels, (index) => {
    const below = { $ref: `#/$defs/p${index - 1}` }
    return index === 0 ? { const: 'never' } : { anyOf: [below, below] }
  }),
  anyOf: [{ $ref: `#/$defs/p${levels - 1}` }, { type: 'integer', minimum: 1000 }],
})

/** Each range of decimal numbers is 7,000 characters of a grammar. */
export const ranges = (count: number) => ({
  type: 'object',
  properties: named(count, (index) => ({ type: 'number', minimum: -index - 0.123456, maximum: index * 999 + 0.5 })),
})

/** All pairs of alternatives are told apart, by the last of their fields. */
export const disjointObjects = (count: number, fields: number) => ({
  oneOf: listOf(count, (index) => ({
    type: 'object',
    properties: { ...named(fields, () => ({ type: 'string' })), kind: { const: index } },
    required: [...Object.keys(named(fields, () => null)), 'kind'],
  })),
})

export const manyProperties = (count: number) => ({
  type: 'object',
  properties: named(count, () => ({ type: 'string' })),
  required: Object.keys(named(count, () => null)),
})

/** The name is a part of the path of everything below it. */
export const longName = (characters: number, parts: number) => ({
  type: 'object',
  properties: {
    ['n'.repeat(characters)]: { type: 'object', properties: named(parts, () => ({ type: 'integer' })) },
  },
})

/** An alternative for each level of a recursive schema: the grammar has rules for each budget. */
export const recursive = (fields: number) => ({
  $defs: {
    node: {
      type: 'object',
      properties: { ...named(fields, () => ({ anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] })) },
    },
  },
  $ref: '#/$defs/node',
})

export const wideClasses = (count: number) => ({
  type: 'object',
  properties: named(count, (index) => ({ type: 'string', pattern: `^${'\\S'.repeat(900)}${'[^a-f]'.repeat(index)}$` })),
})

export const longValues = (count: number, characters: number) => ({
  type: 'array',
  items: { anyOf: listOf(count, (index) => ({ const: { of: 'v'.repeat(characters), index } })) },
})

/** A grammar of one answer, which is twenty gigabytes long. */
export const longText = () => `start: ("a" | "b") part{20000000}\npart: "${'abcdefgh'.repeat(128)}"\n`

/** A grammar with so many kinds of words at each place that the tokens which may follow take milliseconds to find. */
export const manyWords = (count: number) => {
  const word = (index: number) => `W${index}: /[a-zA-Z ]{1,${index + 1}}[0-9]{${index + 1}}/`
  return [`start: (${listOf(count, (index) => `W${index}`).join(' | ')})+`, ...listOf(count, word), ''].join('\n')
}
