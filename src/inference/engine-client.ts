// vLLM's OpenAI routes and our own routes for adapters, over kept-alive connections (docs/internal-api.md, "Model server").
import { text as readText } from 'node:stream/consumers'
import { messageOnWire, toolOnWire } from '../domain/chat.ts'
import { isText } from '../domain/prompt.ts'
import type { AnswerRoom } from '../domain/answer-room.ts'
import type { EncodedRow } from '../domain/row-tokens.ts'
import type { SamplingExtras } from '../domain/sampling-extras.ts'
import { isLargeJson, jsonPieces } from '../json-pieces.ts'
import { EngineLost, EngineRefusal, exchange, type Endpoint, type Payload } from './engine-exchange.ts'
import type { Usage } from './meter.ts'
import {
  promptsOf,
  type AdapterFile,
  type ChatInput,
  type Choice,
  type EngineGrammar,
  type OnText,
  type PromptsInput,
} from './request.ts'
import { eventsOf } from './sse.ts'

export { EngineLost, EngineRefusal, type Endpoint } from './engine-exchange.ts'

/** One call of an engine. `model` is the name under which that engine knows the model. */
export type EngineCall<T> = (endpoint: Endpoint, model: string, signal: AbortSignal) => Promise<T>

type AskedText = {
  input: PromptsInput | ChatInput
  grammar: EngineGrammar | null
  maxTokens: number
  temperature: number
  topP: number
  seed: number | null
  stop: readonly string[]
  extras: SamplingExtras | null
}

type Answered = { choices: Choice[]; usage: Usage }

/** Answers one choice per prompt, in order. Every call throws EngineLost, EngineRefusal, or the signal's reason. */
export const requestCompletions =
  (asked: AskedText, room?: AnswerRoom): EngineCall<Answered> =>
  async (endpoint, model, signal) => {
    const answer = await send(endpoint, 'POST', pathOf(asked), signal, bodyOf(model, asked), room)
    const { choices, usage } = answer as { choices: WireChoice[]; usage?: WireUsage }
    const inOrder = inOrderOf(choices, promptsOf(asked.input).length)
    return { choices: inOrder.map(readChoice), usage: readUsage(usage) }
  }

/** One answer, whose text is passed on piece by piece while it is decoded. @param open called at each try for what takes its pieces */
export const streamCompletion =
  (asked: AskedText, open: () => OnText): EngineCall<Answered> =>
  async (endpoint, model, signal) => {
    const onText = open()
    const body = { ...bodyOf(model, asked), stream: true, stream_options: { include_usage: true } }
    const incoming = await exchange(endpoint, 'POST', pathOf(asked), signal, await written(body))
    if (incoming.statusCode !== 200) refuse(endpoint, incoming.statusCode ?? 0, await incoming.whole(readText))
    let text = ''
    let finishReason: string | null = null
    let usage: Usage = { promptTokens: 0, completionTokens: 0 }
    for await (const event of eventsOf(incoming.pieces())) {
      const chunk = event as { choices?: WireChoice[]; usage?: WireUsage; error?: { code?: number } }
      if (chunk.error) refuse(endpoint, chunk.error.code ?? 500, JSON.stringify(chunk))
      if (chunk.usage) usage = readUsage(chunk.usage)
      for (const choice of chunk.choices ?? []) {
        const { text: piece, logprobs } = readChoice(choice)
        text += piece
        if (piece !== '' || logprobs) onText(piece, logprobs)
        finishReason = choice.finish_reason ?? finishReason
      }
    }
    if (finishReason === null)
      throw new EngineLost(`The model server of ${endpoint.baseModel} ended its answer too early.`, true)
    return { choices: [{ index: 0, text, finishReason, logprobs: null }], usage }
  }

type WireChoice = {
  index: number
  text?: string
  message?: { content: string | null }
  delta?: { content?: string | null }
  logprobs?: unknown
  finish_reason: string | null
}
type WireUsage = { prompt_tokens: number; completion_tokens?: number }

const readChoice = ({ index, text, message, delta, logprobs = null, finish_reason }: WireChoice): Choice => ({
  index,
  text: text ?? message?.content ?? delta?.content ?? '',
  finishReason: finish_reason ?? '',
  logprobs,
})

const readUsage = (usage: WireUsage | undefined): Usage => ({
  promptTokens: usage?.prompt_tokens ?? 0,
  completionTokens: usage?.completion_tokens ?? 0,
})

const pathOf = ({ input }: AskedText) => (input.kind === 'chat' ? '/v1/chat/completions' : '/v1/completions')

const bodyOf = (model: string, { input, grammar, maxTokens, temperature, topP, seed, stop, extras }: AskedText) => ({
  ...extras,
  model,
  ...(input.kind === 'chat' ? chatOnWire(input) : promptsOnWire(input)),
  max_tokens: maxTokens,
  temperature,
  top_p: topP,
  ...(seed !== null && { seed }),
  ...(stop.length > 0 && { stop }),
  ...(grammar && { structured_outputs: grammar }),
})

/** Names the text before each prompt apart from the prompt, if there is any. */
function promptsOnWire({ prompts, textLengths }: PromptsInput) {
  if (!textLengths?.some((length) => length > 0)) return { prompt: prompts }
  const texts = prompts.filter(isText)
  return {
    prompt: texts.map((text, index) => text.slice(textLengths[index])),
    text_before: texts.map((text, index) => text.slice(0, textLengths[index])),
  }
}

/** A call takes one conversation. */
function chatOnWire({ chats: [chat] }: ChatInput) {
  const { messages = [], tools } = chat ?? {}
  return { messages: messages.map(messageOnWire), ...(tools?.length && { tools: tools.map(toolOnWire) }) }
}

type AskedVectors = { texts: readonly string[]; maxTokens: number | null }

/** @param maxTokens the most tokens of a text, or null to cut each text to one context. Answers one finite vector per text, in order */
export const requestEmbeddings =
  ({ texts, maxTokens }: AskedVectors, room?: AnswerRoom): EngineCall<{ vectors: number[][]; usage: Usage }> =>
  async (endpoint, model, signal) => {
    const limit = maxTokens === null ? { truncate_prompt_tokens: -1 } : { max_input_tokens: maxTokens }
    const answer = await send(endpoint, 'POST', '/v1/embeddings', signal, { model, input: texts, ...limit }, room)
    const { data, usage } = answer as { data: { index: number; embedding: number[] }[]; usage?: WireUsage }
    const vectors = inOrderOf(data, texts.length).map(({ embedding }) => embedding)
    // JSON has no NaN: a NaN arrives as null.
    if (!vectors.every((vector) => vector.length > 0 && vector.every(Number.isFinite)))
      throw new Error(`The engine of ${model} returned a vector with an entry that is not a number.`)
    return { vectors, usage: readUsage(usage) }
  }

/** Answers the name of the format in which the model writes calls, and the token that begins them, if it is one. */
export const requestCallFormat: EngineCall<{ name: string; token: number | null; usage: Usage }> = async (
  endpoint,
  _model,
  signal,
) => {
  const answer = await send(endpoint, 'POST', '/agent/v1/call-format', signal, {})
  const { name, token = null } = answer as { name: string; token?: number | null }
  return { name, token, usage: { promptTokens: 0, completionTokens: 0 } }
}

/** `method` as a trainer gets it; absent for supervised. Each of `rows` is the lines that a trainer gets of a row. */
export type RowsToPreview = {
  method?: { type: string } | undefined
  maxLength: number
  specialTokens: boolean
  /** Null for what the method does. */
  overlong: string | null
  rows: readonly string[]
  /** So many rows are shown with their tokens. */
  shownRows: number
}

/** Answers each row as a training would learn it. */
export const requestRowPreview =
  ({
    method,
    maxLength,
    specialTokens,
    overlong,
    rows,
    shownRows,
  }: RowsToPreview): EngineCall<{ rows: EncodedRow[]; usage: Usage }> =>
  async (endpoint, _model, signal) => {
    const lengths = { max_length: maxLength, overlong, special_tokens: specialTokens, shown_rows: shownRows }
    const answer = await send(endpoint, 'POST', '/agent/v1/preview-rows', signal, { method, rows, ...lengths })
    const { rows: encoded } = answer as { rows: EncodedRow[] }
    if (encoded.length !== rows.length)
      throw new Error(`The engine returned ${encoded.length} rows for ${rows.length}.`)
    return { rows: encoded, usage: { promptTokens: 0, completionTokens: 0 } }
  }

/** Counts the tokens of a conversation, or of a single text. */
export const countTokens =
  (input: PromptsInput | ChatInput): EngineCall<{ count: number; usage: Usage }> =>
  async (endpoint, model, signal) => {
    const answer = await send(endpoint, 'POST', '/tokenize', signal, { model, ...countedOnWire(input) })
    const { count } = answer as { count: number }
    return { count, usage: { promptTokens: count, completionTokens: 0 } }
  }

function countedOnWire(input: PromptsInput | ChatInput) {
  if (input.kind === 'chat') return chatOnWire(input)
  const { prompt, ...before } = promptsOnWire(input)
  return { prompt: prompt[0], ...('text_before' in before && { text_before: before.text_before?.[0] }) }
}

export async function putAdapter(endpoint: Endpoint, name: string, files: readonly AdapterFile[], signal: AbortSignal) {
  await send(endpoint, 'PUT', `/agent/v1/adapters/${encodeURIComponent(name)}`, signal, {
    files: files.map(({ name, url, sizeBytes, sha256 }) => ({ name, url, size: sizeBytes, sha256 })),
  })
}

/** Returns once the adapter is gone; also when it was not there. */
export async function deleteAdapter(endpoint: Endpoint, name: string, signal: AbortSignal) {
  await send(endpoint, 'DELETE', `/agent/v1/adapters/${encodeURIComponent(name)}`, signal, undefined)
}

/** @returns the names of the base model and of the adapters that the replica holds */
export async function listModels(endpoint: Endpoint, signal: AbortSignal): Promise<string[]> {
  const answer = await send(endpoint, 'GET', '/v1/models', signal, undefined)
  return (answer as { data: { id: string }[] }).data.map(({ id }) => id)
}

function inOrderOf<T extends { index: number }>(items: readonly T[], count: number): T[] {
  const inOrder = Array.from<T | undefined>({ length: count })
  for (const item of items) inOrder[item.index] = item
  if (items.length !== count || !inOrder.every((item) => item !== undefined))
    throw new Error(`The engine returned ${items.length} answers to ${count} inputs.`)
  return inOrder
}

export async function send(
  endpoint: Endpoint,
  method: string,
  path: string,
  signal: AbortSignal,
  body: unknown,
  room?: AnswerRoom,
) {
  const incoming = await exchange(endpoint, method, path, signal, body === undefined ? [] : await written(body))
  const text = room ? await readWithin(room, incoming.pieces()) : await incoming.whole(readText)
  return incoming.statusCode === 200 ? parse(text, 200) : refuse(endpoint, incoming.statusCode ?? 0, text)
}

let lastWritten: Promise<unknown> = Promise.resolve()

/** Others have their turns while a large body is written. Large ones are written one after the other, because all pieces of a turn add up. */
async function written(body: unknown): Promise<Payload> {
  if (!isLargeJson(body)) return [JSON.stringify(body)]
  const writing = lastWritten.then(() => inPieces(body))
  lastWritten = writing.catch(() => undefined)
  return writing
}

async function inPieces(body: unknown): Promise<Buffer[]> {
  const pieces: Buffer[] = []
  for await (const piece of jsonPieces(body)) pieces.push(Buffer.from(piece))
  return pieces
}

/** Leaves the connection, and so ends the engine's work, when the room is used up. */
async function readWithin(room: AnswerRoom, pieces: AsyncIterable<Buffer>): Promise<string> {
  const read: Buffer[] = []
  try {
    for await (const piece of pieces) {
      read.push(piece)
      room.take(piece.length)
    }
    return Buffer.concat(read).toString()
  } catch (error) {
    room.giveBack(read.reduce((sum, piece) => sum + piece.length, 0))
    throw error
  }
}

function refuse(endpoint: Endpoint, status: number, text: string): never {
  const { error } = parse(text, status) as { error?: { message?: string; param?: string | null; index?: number } }
  const message = error?.message ?? `status ${status}`
  // 401: another server has this address now. The other statuses: the server loads, leaves, is overloaded, or cannot reach the store.
  if ([401, 429, 502, 503, 504].includes(status))
    throw new EngineLost(`The model server of ${endpoint.baseModel} answered: ${message}`, false)
  throw new EngineRefusal(status, message, error?.param ?? null, error?.index ?? null)
}

function parse(text: string, status: number): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`The model server answered ${status} with a body that is not JSON.`, { cause: error })
  }
}
