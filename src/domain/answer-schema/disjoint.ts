// Whether the alternatives of a oneOf exclude each other, so that a value of one is never a value of another.
import { nodeOf, type AnswerSchema, type NodeId, type SchemaNode } from './nodes.ts'
import { spend, type Steps } from './steps.ts'

/** @throws TooMuchWork */
export function areDisjoint(schema: AnswerSchema, id: NodeId, work: Steps): boolean {
  const node = nodeOf(schema, id)
  if (node.kind !== 'any') return true
  return node.of.every((one, at) => node.of.slice(at + 1).every((other) => excludes({ schema, work }, one, other, 0)))
}

const maxDepth = 8

/** False also where nothing is known. */
function excludes(of: { schema: AnswerSchema; work: Steps }, one: NodeId, other: NodeId, depth: number): boolean {
  if (depth > maxDepth) return false
  spend(of.work, 1)
  const [left, right] = [nodeOf(of.schema, one), nodeOf(of.schema, other)]
  if (left.kind === 'any') return left.of.every((each) => excludes(of, each, other, depth + 1))
  if (right.kind === 'any') return right.of.every((each) => excludes(of, one, each, depth + 1))
  if (left.kind === 'choice' && right.kind === 'choice') {
    spend(of.work, left.values.length + right.values.length)
    const values = new Set(right.values)
    return !left.values.some((value) => values.has(value))
  }
  const [types, others] = [typesOf(left, of.work), typesOf(right, of.work)]
  if (!types.some((type) => others.includes(type))) return true
  if (left.kind !== 'object' || right.kind !== 'object') return false
  // A discriminator: a field that both need, with values that exclude each other.
  spend(of.work, left.members.length + right.members.length)
  const required = new Map(right.members.filter(({ isRequired }) => isRequired).map(({ name, node }) => [name, node]))
  return left.members.some(({ name, node, isRequired }) => {
    const same = isRequired ? required.get(name) : undefined
    return same !== undefined && excludes(of, node, same, depth + 1)
  })
}

function typesOf(node: SchemaNode, work: Steps): string[] {
  switch (node.kind) {
    case 'choice':
      spend(work, node.values.length)
      return [...new Set(node.values.map(firstCharacterType))]
    case 'integer':
    case 'number':
      return ['number']
    case 'map':
      return ['object']
    case 'any':
      return []
    case 'string':
    case 'array':
    case 'object':
      return [node.kind]
  }
}

function firstCharacterType(json: string): string {
  const known: Readonly<Record<string, string>> = {
    '"': 'string',
    '{': 'object',
    '[': 'array',
    t: 'boolean',
    f: 'boolean',
    n: 'null',
  }
  return known[json[0] ?? ''] ?? 'number'
}
