// A JSON schema as a graph of the values that an answer may hold. readSchema makes it, and refuses whatever it cannot express.
import type { Automaton } from './automaton.ts'
import type { Pattern } from './pattern.ts'

/** Position in `AnswerSchema.nodes`. Recursive schemas are cycles of the graph. */
export type NodeId = number

/** A pattern that matches the whole string, with the automaton that checks it. */
export type StringRule = { pattern: Pattern; automaton: Automaton }

export type Member = { name: string; node: NodeId; isRequired: boolean }

export type SchemaNode =
  /** JSON texts to choose from. */
  | { kind: 'choice'; values: string[] }
  /** Lengths in characters; `least` is the shortest length that the rules and `maxLength` allow. */
  | { kind: 'string'; least: number; maxLength: number | null; rules: StringRule[] }
  /** Bounds are included. */
  | { kind: 'integer'; minimum: number; maximum: number; multipleOf: number }
  | { kind: 'number'; range: NumberRange | null; maxFraction: number }
  | { kind: 'array'; first: NodeId[]; rest: NodeId | null; minItems: number; maxItems: number | null }
  | { kind: 'object'; members: Member[] }
  | { kind: 'map'; key: NodeId; value: NodeId; isNonEmpty: boolean; maxEntries: number | null }
  | { kind: 'any'; of: NodeId[] }

/** Null means no bound. */
export type NumberRange = {
  minimum: number | null
  maximum: number | null
  excludesMinimum: boolean
  excludesMaximum: boolean
}

export type AnswerSchema = { nodes: readonly SchemaNode[]; root: NodeId }

/** The nodes of the parts of its values. */
export function childrenOf(node: SchemaNode): readonly NodeId[] {
  switch (node.kind) {
    case 'array':
      return node.rest === null ? node.first : [...node.first, node.rest]
    case 'object':
      return node.members.map((member) => member.node)
    case 'map':
      return [node.key, node.value]
    case 'any':
      return node.of
    case 'choice':
    case 'string':
    case 'integer':
    case 'number':
      return []
  }
}

export function nodeOf({ nodes }: AnswerSchema, id: NodeId): SchemaNode {
  const node = nodes[id]
  if (!node) throw new Error(`The schema has no node ${id}.`)
  return node
}
