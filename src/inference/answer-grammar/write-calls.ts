// The grammar of an answer that may call functions: a text, or calls in the model's own format with arguments of their schemas.
import { leastBytes, type Prices } from '../../domain/answer-schema/least-bytes.ts'
import type { AnswerSchema } from '../../domain/answer-schema/nodes.ts'
import type { Steps } from '../../domain/answer-schema/steps.ts'
import type { CallsOf } from '../../domain/answer-shape.ts'
import { headOfCall, type CallFormat } from '../../domain/tools/call-format.ts'
import { createRules, literal } from './rules.ts'
import { addSchema } from './write-grammar.ts'

type Calls = CallsOf<AnswerSchema>

const maxCalls = 8
/** Tokens that the arguments of a call should have beyond the least, before an answer may have more calls. */
const comfortableTokens = 128

/** @param tokens of all calls together. @throws TooComplex */
export function writeCalls(shape: Calls, format: CallFormat, tokens: number, prices: Prices, work?: Steps): string {
  const rules = createRules(work)
  const least = Math.max(...shape.functions.map((called) => leastOfCall(called, format, prices, work)))
  const affordable = Math.floor(tokens / (least + comfortableTokens))
  const count = shape.mayBeSeveral ? Math.min(Math.max(affordable, 1), maxCalls) : 1
  const callRule = rules.reserve()
  const calls = shape.functions.map(({ name, schema }) => {
    const head = headOfCall(format, name)
    const frame = Buffer.byteLength(format.before + head + format.after) + 1
    const inside = addSchema(rules, schema, tokens / count - frame * prices.byte, prices)
    return `${literal(head)} ${inside} ${literal(`}${format.after}`)}`
  })
  callRule.define(calls.join(' | '))
  const more = count > 1 ? `(${literal(format.between + format.before)} ${callRule.name}){0,${count - 1}}` : ''
  const closing = format.closing === '' ? '' : literal(format.closing)
  const list = `${callRule.name} ${more} ${closing}`
  const opening = format.opening + format.before
  const token = format.token === undefined ? '' : `<[${format.token}]>`
  const whole = `${token} ${opening === '' ? '' : literal(opening)} ${list}`
  if (shape.isRequired) return rules.text(whole)
  if (shape.content) return rules.text(`${addSchema(rules, shape.content, tokens, prices)} | ${whole}`)
  return rules.text(withText(format, rules, whole, opening, list))
}

/** A text that may go on to calls, where the format allows it. */
function withText(
  format: CallFormat,
  rules: ReturnType<typeof createRules>,
  whole: string,
  opening: string,
  list: string,
): string {
  if (format.token !== undefined) return `${rules.terminal('/(.|\\n)*/')} ${whole} | ${rules.terminal('/(.|\\n)*/')}`
  if (!format.follows) {
    const call = format.trigger.replaceAll(/[{}"]/g, String.raw`\$&`)
    return `${rules.terminal(`/(.|\\n)*/ & ~/${call}(.|\\n)*/`)} | ${whole}`
  }
  const text = rules.terminal('/(.|\\n)*/')
  // Ends at the first trigger, so that the text alone cannot hold it.
  const until = rules.lazy(`${text} ${literal(format.trigger)}`)
  return `${text} | ${until} ${literal(opening.slice(format.trigger.length))} ${list}`
}

/** Tokens of the shortest call. */
export function leastOfCall(
  { name, schema }: Calls['functions'][number],
  format: CallFormat,
  prices: Prices,
  work?: Steps,
): number {
  const frame = Buffer.byteLength(format.opening + format.before + headOfCall(format, name) + format.after) + 1
  return frame * prices.byte + (leastBytes(schema, prices, work)[schema.root] ?? 0)
}
