// How long the values of a schema can get, and how much of a budget each part should have.
import {
  childrenOf,
  nodeOf,
  type AnswerSchema,
  type NodeId,
  type SchemaNode,
} from '../../domain/answer-schema/nodes.ts'
import { longestNumber, memberBytes, type Prices } from '../../domain/answer-schema/least-bytes.ts'
import { spend, type Steps } from '../../domain/answer-schema/steps.ts'
import { longestString } from './leaves.ts'

/** Items of an array or a map without a bound of its own. */
export const maxItems = 64
const byteLength = (text: string) => Buffer.byteLength(text)
const stepsOf = (node: SchemaNode) => (node.kind === 'choice' ? node.values.length : 1 + childrenOf(node).length)

/** @returns the cost of the longest value of a node; Infinity in a recursive schema */
export function createLongest(schema: AnswerSchema, prices: Prices, work: Steps): (id: NodeId) => number {
  const known = new Map<NodeId, number>()
  const longest = (id: NodeId): number => {
    const found = known.get(id)
    if (found !== undefined) return found
    // Stands while the node is measured, so that a cycle is endless.
    known.set(id, Infinity)
    const cost = measure(id)
    known.set(id, cost)
    return cost
  }
  const { byte } = prices
  function measure(id: NodeId): number {
    const node = nodeOf(schema, id)
    spend(work, stepsOf(node))
    switch (node.kind) {
      case 'choice':
        return Math.max(...node.values.map(byteLength)) * byte
      case 'string':
        return longestString(node, prices)
      case 'integer':
        return 17 * byte
      case 'number':
        return (longestNumber(node) + 4) * byte
      case 'array': {
        const most = Math.min(node.maxItems ?? maxItems, Math.max(maxItems, node.minItems))
        const first = node.first.slice(0, most).reduce((sum, each) => sum + longest(each) + byte, 0)
        const more = Math.max(most - node.first.length, 0)
        return 2 * byte + first + (more > 0 && node.rest !== null ? more * (longest(node.rest) + byte) : 0)
      }
      case 'object':
        return node.members.reduce(
          (sum, { name, node: each }) => sum + memberBytes(name) * byte + longest(each),
          2 * byte,
        )
      case 'map':
        return (
          2 * byte +
          Math.min(node.maxEntries ?? maxItems, maxItems) * (longest(node.key) + longest(node.value) + 2 * byte)
        )
      case 'any':
        return Math.max(...node.of.map(longest))
    }
  }
  return longest
}

const maxWeight = 16
const maxWeightDepth = 4

/** @returns the number of values in a usual answer whose length the model chooses, 1 to 16 */
export function createWeights(schema: AnswerSchema, work: Steps): (id: NodeId) => number {
  const known = new Map<string, number>()
  const weight = (id: NodeId, depth: number): number => {
    const key = `${id} ${depth}`
    const found = known.get(key)
    if (found !== undefined) return found
    const node = nodeOf(schema, id)
    spend(work, stepsOf(node))
    const below = (each: NodeId) => (depth === 0 ? 0 : weight(each, depth - 1))
    const cost = Math.min(maxWeight, weightOf(node, below))
    known.set(key, cost)
    return cost
  }
  return (id) => Math.max(1, weight(id, maxWeightDepth))
}

function weightOf(node: ReturnType<typeof nodeOf>, below: (id: NodeId) => number): number {
  switch (node.kind) {
    case 'choice':
      return 0
    case 'string':
    case 'integer':
    case 'number':
      return 1
    case 'array':
      return Math.max(
        1,
        node.first.reduce((sum, each) => sum + below(each), 0) + (node.rest === null ? 0 : 3 * below(node.rest)),
      )
    case 'object':
      return node.members.reduce((sum, member) => sum + below(member.node), 0)
    case 'map':
      return 3 * (1 + below(node.value))
    case 'any':
      return Math.max(...node.of.map(below))
  }
}
