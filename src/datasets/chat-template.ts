// A conversation as the chat template of a model writes it, and what the trainer learns of it (runtime/anneal_runtime/trainer/rows.py).
import { Template } from '@huggingface/jinja'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { MarkedText } from '../domain/dataset-report.ts'
import type { Conversation } from './dataset-row.ts'
import { loadTokenizer, type TokenizerSource } from './token-sample.ts'

export type ChatTemplate = {
  /**
   * One sequence, in which each learned answer stands after the same tokens as in a chat. An answer whose tokens differ from
   * that gets a sequence of its own.
   * @throws Error when the template refuses the conversation
   */
  sequences(conversation: Conversation): MarkedText[][]
}

type Sequence = { text: string; tokens: number[]; learned: { from: number; to: number }[] }

/**
 * @returns null when this machine has no files of the model, or the model has no template
 * @throws Error when the template cannot be read
 */
export function readChatTemplate(source: TokenizerSource): ChatTemplate | null {
  const tokenizer = loadTokenizer(source)
  const config = readText(join(source.folder, 'tokenizer_config.json'))
  if (!tokenizer || !config) return null
  const { chat_template: inConfig, ...settings } = JSON.parse(config) as Record<string, unknown>
  const text = readText(join(source.folder, 'chat_template.jinja')) ?? inConfig
  if (typeof text !== 'string') return null
  const template = new Template(text)
  const [bos = '', end = '', pad = '', unknown = ''] = ['bos', 'eos', 'pad', 'unk'].map((name) =>
    tokenOf(settings[`${name}_token`]),
  )
  const special = { bos_token: bos, eos_token: end, pad_token: pad, unk_token: unknown }
  const render = (messages: Conversation['messages']) =>
    template.render({ ...special, messages, tools: null, documents: null, add_generation_prompt: true })
  const encode = (text: string) => tokenizer.encode(text, { add_special_tokens: false }).ids
  return {
    sequences({ messages, learned }) {
      const sequences: Sequence[] = []
      for (const position of learned.toReversed()) {
        const before = render(messages.slice(0, position))
        const answer = messages[position]?.content ?? ''
        const tokens = [...encode(before), ...encode(answer)]
        const whole = before + answer + end
        const last = sequences.at(-1)
        const isWithin = last && tokens.every((token, index) => token === last.tokens[index])
        const sequence = isWithin ? last : { text: whole, tokens, learned: [] }
        const isEnded = sequence.text.startsWith(whole)
        sequence.learned.unshift({ from: before.length, to: whole.length - (isEnded ? 0 : end.length) })
        if (sequence !== last) sequences.push(sequence)
      }
      return sequences.map(partsOf)
    },
  }
}

function partsOf({ text, learned }: Sequence): MarkedText[] {
  const parts: MarkedText[] = []
  let at = 0
  for (const { from, to } of learned) {
    if (from > at) parts.push({ text: text.slice(at, from), isLearned: false })
    parts.push({ text: text.slice(from, to), isLearned: true })
    at = to
  }
  return parts
}

/** Some models write a token as an object. */
function tokenOf(value: unknown): string {
  if (typeof value === 'string') return value
  return value && typeof value === 'object' && 'content' in value ? String(value.content) : ''
}

const readText = (path: string) => (statSync(path, { throwIfNoEntry: false }) ? readFileSync(path, 'utf8') : null)
