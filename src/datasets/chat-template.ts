// A conversation as the chat template of a model writes it, and what the trainer learns of it (runtime/anneal_runtime/trainer/rows.py).
import { Template } from '@huggingface/jinja'
import type { ChatMessage } from '../domain/chat.ts'
import type { MarkedText } from '../domain/dataset-report.ts'
import type { Conversation } from './dataset-row.ts'
import { tokenText, type SpecialTokens } from './special-tokens.ts'
import { loadTokenizer, type TokenizerSource } from './token-sample.ts'

export type ChatTemplate = {
  /**
   * One sequence, in which each learned answer stands after the same tokens as in a chat. An answer whose tokens differ from
   * that gets a sequence of its own.
   * @throws Error when the template refuses the conversation
   */
  sequences(conversation: Conversation): MarkedText[][]
}

/** Special tokens that act in `text` have their secret names there. */
type Sequence = { text: string; tokens: number[]; learned: { from: number; to: number }[] }

/**
 * @returns null when this machine has no files of the model, or the model has no template
 * @throws Error when the template cannot be read
 */
export function readChatTemplate(source: TokenizerSource): ChatTemplate | null {
  const loaded = loadTokenizer(source)
  if (!loaded?.chatTemplate) return null
  const { encode, specialTokens, config } = loaded
  const template = new Template(loaded.chatTemplate)
  const [bos, eos, pad, unknown] = ['bos', 'eos', 'pad', 'unk'].map((name) => tokenText(config[`${name}_token`]))
  const own = { bos_token: bos, eos_token: eos, pad_token: pad, unk_token: unknown }
  const end = eos ? specialTokens.swapped(eos) : ''
  const render = (messages: Conversation['messages']) =>
    specialTokens.swapped(
      template.render({
        ...own,
        messages: messages.map((message) => forTemplate(message, eos, specialTokens)),
        tools: null,
        documents: null,
        add_generation_prompt: true,
      }),
    )
  return {
    sequences({ messages, learned }) {
      const sequences: Sequence[] = []
      for (const position of learned.toReversed()) {
        const before = render(messages.slice(0, position))
        const answer = specialTokens.written(unended(messages[position]?.content ?? '', eos))
        const tokens = [...encode(before), ...encode(answer)]
        const whole = before + answer + end
        const last = sequences.at(-1)
        const isWithin = last && tokens.every((token, index) => token === last.tokens[index])
        const sequence = isWithin ? last : { text: whole, tokens, learned: [] }
        const isEnded = sequence.text.startsWith(whole)
        sequence.learned.unshift({ from: before.length, to: whole.length - (isEnded ? 0 : end.length) })
        if (sequence !== last) sequences.push(sequence)
      }
      return sequences.map((sequence) => partsOf(sequence, specialTokens))
    },
  }
}

function forTemplate(message: ChatMessage, end: string | undefined, { hidden }: SpecialTokens): ChatMessage {
  const isAssistants = message.role === 'assistant'
  const content = isAssistants ? unended(message.content, end) : message.content
  return { ...message, content: hidden(content, { isAssistants }) }
}

/** The template, or the trainer, ends an answer itself. */
const unended = (answer: string, end: string | undefined) =>
  end && answer.endsWith(end) ? answer.slice(0, -end.length) : answer

function partsOf({ text, learned }: Sequence, { shown }: SpecialTokens): MarkedText[] {
  const parts: MarkedText[] = []
  let at = 0
  for (const { from, to } of learned) {
    if (from > at) parts.push({ ...shown(text.slice(at, from)), isLearned: false })
    parts.push({ ...shown(text.slice(from, to)), isLearned: true })
    at = to
  }
  return parts
}
