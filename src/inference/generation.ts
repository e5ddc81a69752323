// Rows in, choices out: splits the rows into chunks of the engine's size, runs several at once and restores the order.
import type { CatalogueEntry } from '../domain/catalogue.ts'
import type { Adapter } from './adapters.ts'
import type { AnswerRoom } from '../domain/answer-room.ts'
import { concurrencyFor, runConcurrently, splitIntoChunks } from './chunks.ts'
import type { Prompt, TextLengths } from '../domain/prompt.ts'
import type { SamplingExtras } from '../domain/sampling-extras.ts'
import type { ChatMessage, ChatTool } from '../domain/chat.ts'
import { requestCompletions, streamCompletion, type Choice, type EngineGrammar } from './engine-client.ts'
import { createGrowingText } from './stream-assembler.ts'
import { naming, namingGrammar } from './input-errors.ts'
import type { Meter } from './meter.ts'
import { onServer, type Servers, type Target } from './call-with-failover.ts'
import { workOf } from './text-bounds.ts'

/** Null means the default. Without a seed each call gives another answer, unless the temperature is 0. */
type Sampling = {
  maxTokens: number | null
  temperature: number | null
  topP: number | null
  seed: number | null
  stop: readonly string[]
  extras?: SamplingExtras | null
}

export type GenerationInput = {
  baseModel: CatalogueEntry
  adapter: Adapter | null
  accountId: string
  sampling: Sampling
  signal: AbortSignal
  /** By the index of a row. */
  textLengths?: TextLengths
  /** Replaces the only prompt, which then only serves to measure the length. */
  messages?: readonly ChatMessage[] | null
  /** Functions that the conversation may call. */
  tools?: readonly ChatTool[] | null
  /** Called with the text of a single prompt while it grows. */
  onText?: OnText | undefined
  meter?: Meter | undefined
  /** Bounds the bytes of the engines' answers. */
  room?: AnswerRoom | undefined
}

/** `logprobs`: of the piece's tokens, as the engine writes them. */
type OnText = (piece: string, logprobs?: unknown) => void

export type Row<P extends Prompt = string> = { index: number; prompt: P }
/** Rows that may go to the engine together: one grammar, one length. */
export type RowGroup<P extends Prompt = string> = {
  rows: Row<P>[]
  grammar: EngineGrammar | null
  maxTokens: number
  /** The caller wrote the grammar, so it may cut an answer short and is told why a grammar is refused. */
  isCallers?: boolean
}

/** @returns the answers, each at the index of its row */
export async function generate(
  servers: Servers,
  {
    baseModel,
    adapter,
    accountId,
    sampling,
    signal,
    textLengths,
    messages = null,
    tools = null,
    onText,
    meter,
    room,
  }: GenerationInput,
  groups: readonly RowGroup<Prompt>[],
  seed: number | null,
): Promise<Choice[]> {
  const target: Target = { baseModel, adapter, accountId, meter }
  const { extras = null } = sampling
  const chunks = groups.flatMap(({ rows, ...shared }) =>
    splitIntoChunks(rows, rowsOfCall(baseModel, shared.maxTokens, extras), ({ prompt }) => prompt.length).map(
      (rows) => ({
        rows,
        ...shared,
      }),
    ),
  )
  const choices: Choice[] = []
  const concurrency = concurrencyFor(servers.endpoints.replicaCount(baseModel.name))
  const growing = onText && createGrowingText(onText, { mayRepeat: extras?.logprobs === undefined })
  const send = async (group: RowGroup<Prompt>, chunkSignal: AbortSignal) => {
    const { rows, grammar, maxTokens, isCallers = false } = group
    const request = {
      prompts: rows.map(({ prompt }) => prompt),
      textLengths: textLengths && rows.map(({ index }) => textLengths[index] ?? 0),
      messages,
      tools,
      grammar,
      maxTokens,
      temperature: sampling.temperature ?? 0,
      topP: sampling.topP ?? 1,
      seed,
      // A stop word would cut a typed answer short.
      stop: grammar === null || isCallers ? sampling.stop : [],
      extras,
    }
    const ask = () =>
      onServer(servers, target, workOf(request.prompts, maxTokens), chunkSignal, (endpoint, model, callSignal) =>
        growing
          ? streamCompletion(endpoint, { model, ...request }, callSignal, growing())
          : requestCompletions(endpoint, { model, ...request }, callSignal, room),
      )
    const answer = await naming(baseModel, rows, () => (isCallers ? namingGrammar(ask) : ask()))
    meter?.countTokens(answer.usage)
    rows.forEach(({ index }, at) => (choices[index] = answer.choices[at] as Choice))
  }
  await runConcurrently(chunks, signal, send, concurrency)
  return choices
}

/** Log probabilities of one answer of the engine, which is parsed at once: a few megabytes of JSON. */
const maxLogprobs = 50_000

function rowsOfCall(
  { maxBatch, contextLength }: CatalogueEntry,
  maxTokens: number,
  extras: SamplingExtras | null,
): number {
  const rows = Math.min(Math.max(maxBatch, 16), 256)
  const { logprobs, top_logprobs, echo } = extras ?? {}
  if (logprobs === undefined) return rows
  const ofToken = 1 + (typeof logprobs === 'number' ? logprobs : (top_logprobs ?? 0))
  const tokens = echo ? contextLength : Math.min(maxTokens, contextLength)
  return Math.min(rows, Math.max(1, Math.floor(maxLogprobs / (ofToken * tokens))))
}
