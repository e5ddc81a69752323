// Asks one model. Text arrives piece by piece; a structured answer, calls of functions and stored rows at once.
import type { Call, Question } from '../domain/chat.ts'
import { createEventParser } from '../domain/event-stream.ts'
import { send } from './client.ts'
import { ApiError, problemOf } from './errors.ts'

export type Answered = {
  text: string
  calls: Call[]
  /** The stored rows that were put before the prompt; null where none can be. */
  rows: string[] | null
  tokens: { prompt: number; completion: number } | null
  /** Whether the limit of tokens has cut the answer. */
  isCut: boolean
  /** The sentence of the service about a question that the model is not made for. */
  warning: string | null
  seconds: number
  /** Null if the answer came as a whole. */
  firstSeconds: number | null
}

type Choice = {
  text?: string
  delta?: { content?: string | null }
  message?: { content: string | null; tool_calls?: { id: string; function: { name: string; arguments: string } }[] }
  finish_reason?: string | null
}
type Chunk = {
  choices?: Choice[]
  usage?: { prompt_tokens: number; completion_tokens: number } | null
  error?: object
}
type OutputList = { outputs: Record<string, unknown>[]; rows: string[][] }

/** @param onText gets the text so far */
export async function ask(question: Question, onText: (text: string) => void, signal: AbortSignal): Promise<Answered> {
  const { path, body, isStreamed } = question
  const startedAt = performance.now()
  const seconds = () => (performance.now() - startedAt) / 1000
  const more = isStreamed ? { stream: true, stream_options: { include_usage: true } } : {}
  const response = await send(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ ...body, ...more }),
    signal,
  })
  const warning = response.headers.get('X-Anneal-Warning')
  if (!isStreamed) {
    const answer = wholeAnswer((await response.json()) as Chunk | OutputList, 'output_type' in body)
    return { ...answer, warning, seconds: seconds(), firstSeconds: null }
  }
  const parse = createEventParser()
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let [text, isCut] = ['', false]
  let tokens: Answered['tokens'] = null
  let firstSeconds: number | null = null
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    for (const { data } of parse(part.value)) {
      const chunk = chunkOf(data)
      const [choice] = chunk.choices ?? []
      text += choice?.text ?? choice?.delta?.content ?? ''
      isCut ||= choice?.finish_reason === 'length'
      tokens = tokensOf(chunk) ?? tokens
    }
    if (text !== '') firstSeconds ??= seconds()
    onText(text)
  }
  return { text, calls: [], rows: null, tokens, isCut, warning, seconds: seconds(), firstSeconds }
}

type Whole = Omit<Answered, 'warning' | 'seconds' | 'firstSeconds'>

function wholeAnswer(answer: Chunk | OutputList, isTyped: boolean): Whole {
  if ('outputs' in answer) {
    const [output = {}] = answer.outputs
    const text = isTyped ? JSON.stringify(output) : String(output['output'])
    return { text, calls: [], rows: answer.rows[0] ?? [], tokens: null, isCut: false }
  }
  const [choice] = answer.choices ?? []
  const calls = (choice?.message?.tool_calls ?? []).map(({ id, function: { name, arguments: text } }) => ({
    id,
    name,
    arguments: text,
  }))
  const text = choice?.text ?? choice?.message?.content ?? ''
  return { text, calls, rows: null, tokens: tokensOf(answer), isCut: choice?.finish_reason === 'length' }
}

const tokensOf = ({ usage }: Chunk) =>
  usage ? { prompt: usage.prompt_tokens, completion: usage.completion_tokens } : null

/** A failure after the first piece arrives as an event. @throws ApiError */
function chunkOf(data: string): Chunk {
  if (data === '[DONE]' || data === '') return {}
  const chunk = JSON.parse(data) as Chunk
  if (chunk.error) throw new ApiError(problemOf(500, chunk))
  return chunk
}
