// The rules and terminals of a grammar of llguidance (Lark's syntax), of which each is written once.
import type { SchemaNode } from '../../domain/answer-schema/nodes.ts'
import { spend, type Steps } from '../../domain/answer-schema/steps.ts'
import { newWork } from '../../domain/answer-schema/work.ts'

const maxRules = 20_000
/** The engine refuses a longer grammar: runtime/anneal_runtime/server/decoding/grammar.py. */
const maxCharacters = 1_048_576
const charactersOfStep = 8
const stepsOfRule = 30
/** A range of numbers is many alternatives of digits. */
const stepsOfNumber = { integer: 500, number: 5000 }

type NumberNode = Extract<SchemaNode, { kind: 'integer' | 'number' }>

/** A grammar that no engine takes, or work on a schema that takes too long. */
export class TooComplex extends Error {}

/** The rules of several schemas in one grammar. */
export type Rules = ReturnType<typeof createRules>

/** @param work Writing stops with TooMuchWork once it is used up. */
export function createRules(work: Steps = newWork()) {
  const lines: string[] = []
  const byText = new Map<string, string>()
  const numbers = new Map<string, string>()
  let characters = 0

  function count({ length }: string) {
    spend(work, stepsOfRule + length / charactersOfStep)
    characters += length
    if (characters > maxCharacters) throw new TooComplex()
  }

  function add(body: string, prefix: string): string {
    if (lines.length >= maxRules) throw new TooComplex()
    const name = `${prefix}${lines.length}`
    count(body)
    lines.push(`${name}: ${body}`)
    return name
  }
  return {
    work,
    /** Keeps a place for a rule that refers to itself through others. */
    reserve(prefix = 'r') {
      if (lines.length >= maxRules) throw new TooComplex()
      const at = lines.push('') - 1
      const name = `${prefix}${at}`
      const define = (body: string) => {
        count(body)
        lines[at] = `${name}: ${body}`
      }
      return { name, define }
    },
    /** The terminal of equal numbers is written once. */
    number(node: NumberNode, budget: number, write: () => string): string {
      const key = JSON.stringify([node, budget])
      const known = numbers.get(key)
      if (known !== undefined) return known
      spend(work, stepsOfNumber[node.kind])
      const body = write()
      numbers.set(key, body)
      return body
    },
    /** Equal terminals are one: each costs the lexer its states. */
    terminal(body: string): string {
      const isRule = body.startsWith('%')
      const known = byText.get(body) ?? add(body, isRule ? 'r' : 'T')
      byText.set(body, known)
      return known
    },
    /** A rule that ends as soon as it can. */
    lazy(body: string): string {
      const name = `r${lines.length}`
      count(body)
      lines.push(`${name}[lazy]: ${body}`)
      return name
    },
    text: (start: string) => ['%llguidance {}', `start: ${start}`, ...lines, ''].join('\n'),
  }
}

/** Lark's strings take no control characters as they are. */
export const literal = (text: string) =>
  JSON.stringify(text).replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
