// One translation of a schema to a grammar of llguidance (Lark's syntax) whose longest answer is within a budget. Each part
// of the schema gets a share of the budget, so recursion ends, and arrays and strings are bounded, where the shares are used up.
// There is no free white space, and nothing in an answer is unbounded, because a model that may go on does so.
import {
  childrenOf,
  nodeOf,
  type AnswerSchema,
  type NodeId,
  type SchemaNode,
} from '../../domain/answer-schema/nodes.ts'
import { leastBytes, memberBytes, type Prices } from '../../domain/answer-schema/least-bytes.ts'
import { spend, type Steps } from '../../domain/answer-schema/steps.ts'
import { integerTerminal, numberTerminal, stringTerminal } from './leaves.ts'
import { createRules, literal, type Rules } from './rules.ts'
import { createLongest, createWeights, maxItems } from './sizes.ts'

/** A budget is `tokens` of these prices. */
export const certain: Prices = { byte: 1, character: 6 }
/** Models rarely spell byte by byte: four bytes of structure, or one character of text, for each token. */
export const usual: Prices = { byte: 1 / 4, character: 1 }

/** What an item of an array should have for each of its values, in characters, before the array gets more items. */
const charactersPerValue = 24
const stepsOfPart = 16

/** @returns a whole grammar. @throws TooComplex */
export function writeGrammar(schema: AnswerSchema, tokens: number, prices: Prices, work?: Steps): string {
  const rules = createRules(work)
  return rules.text(addSchema(rules, schema, tokens, prices))
}

/** @returns the name of the rule for the schema's root */
export function addSchema(rules: Rules, schema: AnswerSchema, tokens: number, prices: Prices): string {
  const writer = createWriter(rules, schema, prices)
  return writer.rule(schema.root, tokens)
}

type Of<Kind extends SchemaNode['kind']> = Extract<SchemaNode, { kind: Kind }>

function createWriter(rules: Rules, schema: AnswerSchema, prices: Prices) {
  const { work } = rules
  const least = leastBytes(schema, prices, work)
  const leastOf = (id: NodeId) => least[id] ?? Infinity
  const longest = createLongest(schema, prices, work)
  const weight = createWeights(schema, work)
  const known = new Map<string, string>()
  const { byte } = prices

  function rule(id: NodeId, budget: number): string {
    // Rounded, so that a recursive schema has few rules.
    const most = Math.min(longest(id), Math.max(leastOf(id), roundDown(budget)))
    const key = `${id} ${most}`
    const found = known.get(key)
    if (found !== undefined) return found
    const node = nodeOf(schema, id)
    spend(work, node.kind === 'choice' ? node.values.length : stepsOfPart * childrenOf(node).length)
    const leaf = leafOf(node, most)
    if (leaf !== null) {
      const name = rules.terminal(leaf)
      known.set(key, name)
      return name
    }
    const { name, define } = rules.reserve()
    known.set(key, name)
    define(bodyOf(node, most))
    return name
  }

  function leafOf(node: SchemaNode, budget: number): string | null {
    switch (node.kind) {
      case 'choice': {
        const fitting = node.values.filter((value) => Buffer.byteLength(value) * byte <= budget)
        return fitting.map(literal).join(' | ')
      }
      case 'string':
        return stringTerminal(node, budget, prices, work)
      case 'integer':
        return rules.number(node, budget, () => integerTerminal(node, budget, prices))
      case 'number':
        return rules.number(node, budget, () => numberTerminal(node, budget, prices))
      case 'array':
      case 'object':
      case 'map':
      case 'any':
        return null
    }
  }

  function bodyOf(node: SchemaNode, budget: number): string {
    switch (node.kind) {
      case 'array':
        return arrayBody(node, budget)
      case 'object':
        return objectBody(node, budget)
      case 'map':
        return mapBody(node, budget)
      case 'any':
        return node.of
          .filter((each) => leastOf(each) <= budget)
          .map((each) => rule(each, budget))
          .join(' | ')
      case 'choice':
      case 'string':
      case 'integer':
      case 'number':
        throw new Error(`A ${node.kind} is a terminal.`)
    }
  }

  function objectBody({ members }: Of<'object'>, budget: number): string {
    let left = budget - 2 * byte - sum(members.filter(({ isRequired }) => isRequired).map(costOf))
    const written = members.filter((member) => {
      if (member.isRequired) return true
      const fits = costOf(member) <= left
      if (fits) left -= costOf(member)
      return fits
    })
    const shares = divide(
      written.map(({ node }) => node),
      left,
    )
    const texts = written.map(
      ({ name, node }, at) => `${literal(`${JSON.stringify(name)}:`)} ${rule(node, shares[at] ?? 0)}`,
    )
    return `"{" ${sequenceOf(texts.map((text, at) => ({ text, isRequired: written[at]?.isRequired === true })))} "}"`
  }

  const costOf = ({ name, node }: { name: string; node: NodeId }) => memberBytes(name) * byte + leastOf(node)

  /** Members with commas between those that are there. Rules for the rest, before and after the first member. */
  function sequenceOf(members: { text: string; isRequired: boolean }[]): string {
    if (members.every(({ isRequired }) => isRequired)) return members.map(({ text }) => text).join(' "," ')
    let [fresh, going] = ['""', '""']
    for (const { text, isRequired } of members.toReversed()) {
      const [first, more] = [`${text} ${going}`, `"," ${text} ${going}`]
      fresh = named(isRequired ? first : `${first} | ${fresh}`)
      going = named(isRequired ? more : `${more} | ${going}`)
    }
    return fresh
  }

  function named(body: string): string {
    const { name, define } = rules.reserve()
    define(body)
    return name
  }

  function arrayBody({ first, rest, minItems, maxItems: bound }: Of<'array'>, budget: number): string {
    const needed = sum(first.slice(0, minItems).map((id) => leastOf(id) + byte))
    let left = budget - 2 * byte - needed
    const isFull = (count: number) => bound !== null && count >= bound
    const heads = first.slice(0, minItems)
    const restNeeded = rest === null ? 0 : Math.max(minItems - first.length, 0) * (leastOf(rest) + byte)
    left -= restNeeded
    // Items that need not be there are written as long as their shortest fits.
    for (const id of first.slice(minItems)) {
      if (isFull(heads.length) || leastOf(id) + byte > left) break
      heads.push(id)
      left -= leastOf(id) + byte
    }
    const allHeads = heads.length === first.length
    const forRest = rest === null || !allHeads ? 0 : heads.length === 0 ? left : left / 2
    const shares = divide(heads, left - forRest)
    const texts = heads.map((id, at) => ({ text: rule(id, shares[at] ?? 0), isRequired: at < minItems }))
    const tail =
      rest === null || !allHeads
        ? ''
        : items(
            rest,
            minItems - first.length,
            bound === null ? null : bound - first.length,
            restNeeded + forRest,
            heads.length > 0,
          )
    return `"[" ${listOf(texts, tail)} "]"`
  }

  /** Items that may end after each one, with a tail that brings its own commas. */
  function listOf(texts: { text: string; isRequired: boolean }[], tail: string): string {
    return texts.reduceRight((then, { text, isRequired }, at) => {
      const whole = `${at > 0 ? '"," ' : ''}${text} ${then}`
      return isRequired ? whole : `(${whole})?`
    }, tail)
  }

  /** At least `least` items of one kind. */
  function items(id: NodeId, minimum: number, bound: number | null, budget: number, isAfterOthers: boolean): string {
    const fewest = Math.max(minimum, 0)
    const smallest = leastOf(id) + byte
    const comfortable = Math.min(longest(id), leastOf(id) + weight(id) * charactersPerValue * prices.character) + byte
    const atMost = Math.min(bound ?? maxItems, Math.max(maxItems, fewest))
    const affordable = budget >= smallest ? Math.max(1, Math.floor(budget / comfortable)) : 0
    const most = Math.max(fewest, Math.min(affordable, atMost))
    if (most <= 0) return ''
    const item = rule(id, budget / most - byte)
    if (isAfterOthers) return repeat(`"," ${item}`, fewest, most)
    const whole = `${item} ${repeat(`"," ${item}`, Math.max(fewest - 1, 0), most - 1)}`
    return fewest === 0 ? `(${whole})?` : whole
  }

  function mapBody({ key, value, isNonEmpty, maxEntries }: Of<'map'>, budget: number): string {
    const needed = leastOf(key) + leastOf(value) + 2 * byte
    const left = budget - 2 * byte
    const comfortable = Math.min(
      longest(key) + longest(value),
      needed + (1 + weight(value)) * charactersPerValue * prices.character,
    )
    const affordable = left >= needed ? Math.max(1, Math.floor(left / comfortable)) : 0
    const most = Math.min(affordable, maxEntries ?? maxItems, maxItems)
    if (most <= 0) return '"{}"'
    const [ofKey = 0, ofValue = 0] = divide([key, value], left / most - needed)
    const entry = named(`${rule(key, ofKey)} ":" ${rule(value, ofValue)}`)
    const whole = `${entry} ${repeat(`"," ${entry}`, 0, most - 1)}`
    return `"{" ${isNonEmpty ? whole : `(${whole})?`} "}"`
  }

  /** Shares `left` beyond the shortest values by weight; what a value cannot use goes to the others. */
  function divide(ids: NodeId[], left: number): number[] {
    const shares = ids.map(leastOf)
    let open = ids.map((_, at) => at)
    let rest = Math.max(left, 0)
    while (open.length > 0) {
      spend(work, stepsOfPart * open.length)
      const whole = sum(open.map((at) => weight(ids[at] as NodeId)))
      const part = (at: number) => (rest * weight(ids[at] as NodeId)) / whole
      const room = (at: number) => longest(ids[at] as NodeId) - leastOf(ids[at] as NodeId)
      const content = new Set(open.filter((at) => room(at) <= part(at)))
      if (content.size === 0) {
        for (const at of open) shares[at] = (shares[at] ?? 0) + part(at)
        break
      }
      const used = sum([...content].map(room))
      for (const at of content) shares[at] = longest(ids[at] as NodeId)
      rest -= used
      open = open.filter((at) => !content.has(at))
    }
    return shares
  }

  return { rule }
}

const repeat = (body: string, least: number, most: number) => (most === 0 ? '' : `(${body}){${least},${most}}`)
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)

/** To four steps between two powers of two. */
export function roundDown(budget: number): number {
  if (budget < 1) return budget
  const step = 2 ** Math.floor(Math.log2(budget)) / 4
  return Math.floor(budget / step) * step
}
