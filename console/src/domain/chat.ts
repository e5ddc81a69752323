// The requests of the playground: what is asked of a model, as a chat or as a plain prompt.
import { outputType, responseFormat, samplingOf, type Setup } from './playground.ts'

/** A call of a function that a model has written. */
export type Call = { id: string; name: string; arguments: string }

export type Message =
  | { role: 'system' | 'user'; content: string }
  | { role: 'assistant'; content: string | null; tool_calls?: object[] }
  | { role: 'tool'; tool_call_id: string; content: string }

/** The facts of a model that decide how the playground asks it. */
export type ModelFacts = {
  /** Null for a base. */
  base_model?: string | null
  learned_form?: 'texts' | 'pairs' | 'conversations' | null
  has_chat_template?: boolean
  system_message?: string | null
}

export type Question = { path: string; body: Record<string, unknown>; isStreamed: boolean; isChat: boolean }

/** OpenAI's default of 16 for prompts cuts most answers. */
export const defaultTokens = 256

/** A tuned model is asked in the form that it learned, and a base as a chat if it has a template. */
const learnedChat = ({ base_model: base, learned_form: form, has_chat_template: hasTemplate }: ModelFacts) =>
  base == null ? hasTemplate === true : form === 'conversations'

/** Stored rows are put before prompts only. */
export const isAskedAsChat = ({ chat, rows }: Setup, facts: ModelFacts) =>
  rows === '' && (chat === '' ? learnedChat(facts) : chat === 'yes')

export const userMessage = (content: string): Message => ({ role: 'user', content })

export const answerMessage = (text: string, calls: readonly Call[]): Message => ({
  role: 'assistant',
  content: text === '' && calls.length > 0 ? null : text,
  ...(calls.length > 0 && {
    tool_calls: calls.map(({ id, name, arguments: text }) => ({
      id,
      type: 'function',
      function: { name, arguments: text },
    })),
  }),
})

export type Texts = {
  /** Null for the message that the model has learned with. */
  system: string | null
  /** A list of functions as JSON, or ''. */
  tools: string
}

/**
 * @param messages the conversation without its system message; a plain prompt is its last message
 * @throws Error with a sentence about the setting that is wrong
 */
export function questionOf(
  model: string,
  facts: ModelFacts,
  { setup, texts, messages }: { setup: Setup; texts: Texts; messages: readonly Message[] },
): Question {
  const sampling = { max_tokens: defaultTokens, ...samplingOf(setup) }
  const prompt = messages.at(-1)?.content ?? ''
  if (setup.rows !== '') {
    const type = outputType(setup.type)
    const body = { model_name: model, prompt, ...sampling, ...(type && { output_type: type }), id: setup.rows }
    return { path: '/v2/completions', body: { ...body, include_rows: true }, isStreamed: false, isChat: false }
  }
  const format = responseFormat(setup.type)
  const more = { ...sampling, ...(format && { response_format: format }) }
  if (!isAskedAsChat(setup, facts))
    return { path: '/openai/v1/completions', body: { model, prompt, ...more }, isStreamed: !format, isChat: false }
  const system = (texts.system ?? facts.system_message ?? '').trim()
  const tools = readTools(texts.tools)
  const body = {
    model,
    messages: [...(system === '' ? [] : [{ role: 'system', content: system }]), ...withResults(messages)],
    ...more,
    ...(tools.length > 0 && { tools }),
  }
  // The service asks again for a structured answer that runs out of tokens, unless it is streamed.
  const isStreamed = !format && tools.length === 0
  return { path: '/openai/v1/chat/completions', body, isStreamed, isChat: true }
}

/** Leaves out calls that got no result, with the question that led to them: the service refuses them in a conversation. */
function withResults(messages: readonly Message[]): Message[] {
  const lacksResult = (at: number) => {
    const message = messages[at]
    return message?.role === 'assistant' && message.tool_calls !== undefined && messages[at + 1]?.role !== 'tool'
  }
  return messages.filter(({ role }, at) => !lacksResult(at) && !(role === 'user' && lacksResult(at + 1)))
}

function readTools(text: string): unknown[] {
  if (text.trim() === '') return []
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new Error(`The tools are no JSON: ${(error as Error).message}`, { cause: error })
  }
  if (!Array.isArray(value)) throw new Error('The tools must be a list, such as [{"type": "function", …}].')
  return value
}
