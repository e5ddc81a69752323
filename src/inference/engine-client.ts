// vLLM's OpenAI routes and our own routes for adapters, over kept-alive connections (docs/internal-api.md, "Model server").
import { text as readText } from 'node:stream/consumers'
import { messageOnWire, toolOnWire, type ChatMessage, type ChatTool } from '../domain/chat.ts'
import { isText, type Prompt, type TextLengths } from '../domain/prompt.ts'
import type { AnswerRoom } from '../domain/answer-room.ts'
import type { SamplingExtras } from '../domain/sampling-extras.ts'
import { isLargeJson, jsonPieces } from '../json-pieces.ts'
import { EngineLost, EngineRefusal, exchange, type Endpoint, type Payload } from './engine-exchange.ts'
import { eventsOf } from './sse.ts'

export { EngineLost, EngineRefusal, type Endpoint } from './engine-exchange.ts'

export type AdapterFile = { name: string; url: string; sizeBytes: number; sha256: string }
/** `logprobs`: as OpenAI has them; null when they are not asked for. */
export type Choice = { index: number; text: string; finishReason: string; logprobs: unknown }
export type Usage = { promptTokens: number; completionTokens: number }
export type OnUsage = (usage: Usage) => void

/** A regex, or a grammar in Lark's syntax as llguidance reads it. */
export type EngineGrammar = { regex: string } | { grammar: string }

export type CompletionRequest = {
  model: string
  /** With `messages` the engine ignores this text: the model's own template makes the prompt. */
  prompts: readonly Prompt[]
  textLengths?: TextLengths
  messages: readonly ChatMessage[] | null
  /** Functions that the conversation may call. */
  tools?: readonly ChatTool[] | null
  grammar: EngineGrammar | null
  maxTokens: number
  temperature: number
  topP: number
  seed: number | null
  stop: readonly string[]
  extras: SamplingExtras | null
}

/** @returns one choice per prompt, in order. Every call throws EngineLost, EngineRefusal, or the signal's reason. */
export async function requestCompletions(
  endpoint: Endpoint,
  request: CompletionRequest,
  signal: AbortSignal,
  room?: AnswerRoom,
): Promise<{ choices: Choice[]; usage: Usage }> {
  const answer = await send(endpoint, 'POST', pathOf(request), signal, bodyOf(request), room)
  const { choices, usage } = answer as { choices: WireChoice[]; usage?: WireUsage }
  const inOrder = inOrderOf(choices, request.messages ? 1 : request.prompts.length)
  return { choices: inOrder.map(readChoice), usage: readUsage(usage) }
}

/** One answer, whose text is passed on piece by piece while it is decoded. */
export async function streamCompletion(
  endpoint: Endpoint,
  request: CompletionRequest,
  signal: AbortSignal,
  onText: (piece: string, logprobs?: unknown) => void,
): Promise<{ choices: Choice[]; usage: Usage }> {
  const body = { ...bodyOf(request), stream: true, stream_options: { include_usage: true } }
  const incoming = await exchange(endpoint, 'POST', pathOf(request), signal, await written(body))
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

const pathOf = ({ messages }: CompletionRequest) => (messages ? '/v1/chat/completions' : '/v1/completions')

const bodyOf = ({
  model,
  prompts,
  textLengths,
  messages,
  tools,
  grammar,
  maxTokens,
  temperature,
  topP,
  seed,
  stop,
  extras,
}: CompletionRequest) => ({
  ...extras,
  model,
  ...(messages ? conversationOnWire(messages, tools) : promptsOnWire(prompts, textLengths)),
  max_tokens: maxTokens,
  temperature,
  top_p: topP,
  ...(seed !== null && { seed }),
  ...(stop.length > 0 && { stop }),
  ...(grammar && { structured_outputs: grammar }),
})

/** Names the text before each prompt apart from the prompt, if there is any. */
function promptsOnWire(prompts: readonly Prompt[], textLengths: TextLengths) {
  if (!textLengths?.some((length) => length > 0)) return { prompt: prompts }
  const texts = prompts.filter(isText)
  return {
    prompt: texts.map((text, index) => text.slice(textLengths[index])),
    text_before: texts.map((text, index) => text.slice(0, textLengths[index])),
  }
}

/** @param maxTokens the most tokens of a text, or null to cut each text to one context. @returns one finite vector per text, in order */
export async function requestEmbeddings(
  endpoint: Endpoint,
  { model, texts, maxTokens }: { model: string; texts: readonly string[]; maxTokens: number | null },
  signal: AbortSignal,
  room?: AnswerRoom,
): Promise<{ vectors: number[][]; usage: Usage }> {
  const limit = maxTokens === null ? { truncate_prompt_tokens: -1 } : { max_input_tokens: maxTokens }
  const answer = await send(endpoint, 'POST', '/v1/embeddings', signal, { model, input: texts, ...limit }, room)
  const { data, usage } = answer as { data: { index: number; embedding: number[] }[]; usage?: WireUsage }
  const vectors = inOrderOf(data, texts.length).map(({ embedding }) => embedding)
  // JSON has no NaN: a NaN arrives as null.
  if (!vectors.every((vector) => vector.length > 0 && vector.every(Number.isFinite)))
    throw new Error(`The engine of ${model} returned a vector with an entry that is not a number.`)
  return { vectors, usage: readUsage(usage) }
}

type Conversation = {
  messages?: readonly ChatMessage[] | null | undefined
  tools?: readonly ChatTool[] | null | undefined
}

const conversationOnWire = (messages: readonly ChatMessage[], tools: Conversation['tools']) => ({
  messages: messages.map(messageOnWire),
  ...(tools?.length && { tools: tools.map(toolOnWire) }),
})

/** @returns the name of the format in which the model writes calls, and the token that begins them, if it is one */
export async function requestCallFormat(
  endpoint: Endpoint,
  signal: AbortSignal,
): Promise<{ name: string; token: number | null; usage: Usage }> {
  const answer = await send(endpoint, 'POST', '/agent/v1/call-format', signal, {})
  const { name, token = null } = answer as { name: string; token?: number | null }
  return { name, token, usage: { promptTokens: 0, completionTokens: 0 } }
}

/** `textLength`: see TextLengths. */
type CountedPrompt = { model: string; prompt: string; textLength: number }

export async function countTokens(
  endpoint: Endpoint,
  { model, prompt, textLength, messages, tools }: Conversation & CountedPrompt,
  signal: AbortSignal,
): Promise<{ count: number; usage: Usage }> {
  const before = textLength > 0 ? { text_before: prompt.slice(0, textLength) } : {}
  const asked = messages ? conversationOnWire(messages, tools) : { prompt: prompt.slice(textLength), ...before }
  const answer = await send(endpoint, 'POST', '/tokenize', signal, { model, ...asked })
  const { count } = answer as { count: number }
  return { count, usage: { promptTokens: count, completionTokens: 0 } }
}

export async function putAdapter(endpoint: Endpoint, name: string, files: readonly AdapterFile[], signal: AbortSignal) {
  await send(endpoint, 'PUT', `/agent/v1/adapters/${encodeURIComponent(name)}`, signal, {
    files: files.map(({ name, url, sizeBytes, sha256 }) => ({ name, url, size: sizeBytes, sha256 })),
  })
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

async function send(
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
