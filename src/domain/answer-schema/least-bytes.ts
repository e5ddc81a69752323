// The shortest answer of each part of a schema.
import { childrenOf, nodeOf, type AnswerSchema, type NodeId, type NumberRange, type SchemaNode } from './nodes.ts'
import { spend, type Steps } from './steps.ts'
import { newWork } from './work.ts'

/** JSON around a value: quotes, brackets, names, commas. `character` is the cost of one character of a string. */
export type Prices = { byte: number; character: number }

export const bytes: Prices = { byte: 1, character: 1 }
const stepsOfPart = 3

/** @returns the cost of the shortest value of each node, or Infinity where none can end. @throws TooMuchWork */
export function leastBytes(schema: AnswerSchema, prices: Prices = bytes, work: Steps = newWork()): number[] {
  const { nodes } = schema
  const least = nodes.map(() => Infinity)
  for (const node of nodes) spend(work, node.kind === 'choice' ? node.values.length : stepsOfPart)
  for (const [id, node] of nodes.entries()) if (isLeaf(node)) least[id] = leastOf(node, () => Infinity, prices)
  const others = partsFirst(schema)
  // A value that contains another of the same node is longer, so each round settles at least one more node.
  for (let isSettled = false; !isSettled;) {
    isSettled = true
    for (const id of others) {
      const node = nodeOf(schema, id)
      spend(work, stepsOfPart * (1 + childrenOf(node).length))
      const cost = leastOf(node, (child) => least[child] ?? Infinity, prices)
      if (cost >= (least[id] ?? Infinity)) continue
      least[id] = cost
      isSettled = false
    }
  }
  return least
}

/** The nodes with parts, each after its parts, so that only cycles need more than one round. */
function partsFirst(schema: AnswerSchema): NodeId[] {
  const order: NodeId[] = []
  const seen = new Set<NodeId>()
  const waiting: { id: NodeId; isLeft: boolean }[] = [...schema.nodes.keys()].map((id) => ({ id, isLeft: false }))
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { id, isLeft } = next
    if (isLeft) order.push(id)
    if (isLeft || seen.has(id)) continue
    seen.add(id)
    const children = childrenOf(nodeOf(schema, id))
    if (children.length > 0)
      waiting.push({ id, isLeft: true }, ...children.map((child) => ({ id: child, isLeft: false })))
  }
  return order
}

const isLeaf = (node: SchemaNode) => childrenOf(node).length === 0

function leastOf(node: SchemaNode, least: (id: number) => number, { byte, character }: Prices): number {
  switch (node.kind) {
    case 'choice':
      return Math.min(...node.values.map((value) => byteLength(value))) * byte
    case 'string':
      return 2 * byte + node.least * character
    case 'integer':
      return shortestInteger(node.minimum, node.maximum, node.multipleOf) * byte
    case 'number':
      return shortestNumber(node) * byte
    case 'array': {
      const count = node.minItems
      const first = node.first.slice(0, count).reduce((sum, id) => sum + least(id) + byte, 0)
      const more = Math.max(count - node.first.length, 0)
      return 2 * byte + first + (more > 0 && node.rest !== null ? more * (least(node.rest) + byte) : 0)
    }
    case 'object':
      return node.members.reduce(
        (sum, { name, node: id, isRequired }) => sum + (isRequired ? memberBytes(name) * byte + least(id) : 0),
        2 * byte,
      )
    case 'map':
      return 2 * byte + (node.isNonEmpty ? least(node.key) + least(node.value) + 2 * byte : 0)
    case 'any':
      return Math.min(Infinity, ...node.of.map(least))
  }
}

/** A name with its colon and a comma. */
export const memberBytes = (name: string) => byteLength(JSON.stringify(name)) + 2

/** Digits of an integer near zero. With steps, any multiple may be written, so the longest counts. */
function shortestInteger(minimum: number, maximum: number, multipleOf: number): number {
  const nearest = minimum > 0 ? minimum : maximum < 0 ? maximum : 0
  if (multipleOf === 1) return String(nearest).length
  return Math.max(String(minimum).length, String(maximum).length)
}

/** Characters of a number with sign and point. */
export const longestNumber = ({ maxFraction }: { maxFraction: number }) => 17 + maxFraction

function shortestNumber(node: { range: NumberRange | null; maxFraction: number }): number {
  const whole = wholeNumbersIn(node.range)
  return whole ? shortestInteger(...whole, 1) : longestNumber(node)
}

/** The least and the greatest whole number of a range, or null where it has none. */
export function wholeNumbersIn(range: NumberRange | null): [number, number] | null {
  const { minimum, maximum, excludesMinimum, excludesMaximum } = range ?? everything
  const low = minimum === null ? -mostWhole : excludesMinimum ? Math.floor(minimum) + 1 : Math.ceil(minimum)
  const high = maximum === null ? mostWhole : excludesMaximum ? Math.ceil(maximum) - 1 : Math.floor(maximum)
  return low <= high ? [low, high] : null
}

const mostWhole = 10 ** 15 - 1
const everything: NumberRange = { minimum: null, maximum: null, excludesMinimum: false, excludesMaximum: false }

const byteLength = (text: string) => Buffer.byteLength(text)
