// One request to a model: built at the door, handed down unchanged but for what each step adds.
import type { CallsShape, GrammarShape, SchemaShape, AskedSchema } from '../domain/answer-shape.ts'
import type { AnswerRoom } from '../domain/answer-room.ts'
import type { CatalogueEntry } from '../domain/catalogue.ts'
import type { MeasuredChat } from '../domain/chat.ts'
import type { OutputType } from '../domain/output-type.ts'
import type { Prompt, TextLengths } from '../domain/prompt.ts'
import type { SamplingExtras } from '../domain/sampling-extras.ts'
import type { Meter } from './meter.ts'
import type { OutputValue } from './typed-output.ts'

/** The model that answers (a base, or an adapter on it), the account that asks, and what ends, counts and bounds the work. */
export type ModelRequest = {
  baseModel: CatalogueEntry
  adapter: Adapter | null
  accountId: string
  signal: AbortSignal
  meter?: Meter | undefined
  /** Bounds the bytes of the engines' answers. */
  room?: AnswerRoom | undefined
}

/** A tuned model. A `name` never stands for other bytes. `files` signs fresh URLs on each call. */
export type Adapter = { name: string; files: () => Promise<AdapterFile[]> }
export type AdapterFile = { name: string; url: string; sizeBytes: number; sha256: string }

export type CompletionRequest<Form = AnswerForm> = ModelRequest & {
  input: PromptsInput | ChatInput
  answer: Form
  sampling: Sampling
  /** Receives the text of a single answer while it grows. */
  onText?: OnText | undefined
}

export type PromptsInput = {
  kind: 'prompts'
  prompts: readonly Prompt[]
  textLengths?: TextLengths
  /** Stored rows to put before each prompt, nearest first. Null: no prompt has rows. */
  rows?: readonly (readonly string[])[] | null
}

export type ChatInput = {
  kind: 'chat'
  chats: readonly MeasuredChat[]
  /** Stored rows to put before the last message of each chat, nearest first. Null: no chat has rows. */
  rows?: readonly (readonly string[])[] | null
}

/** `maxTokens`: the most tokens of an answer, and for typed answers of their texts only. Null means the default of each form. */
export type Bounded<Form> = Form & { maxTokens: number | null }
export type TypedForm = Bounded<{ kind: 'typed'; outputType: OutputType }>
export type AnswerForm = Bounded<{ kind: 'text' } | SchemaShape<AskedSchema> | CallsShape | GrammarShape> | TypedForm

/** Null means the default. Without a seed each call gives another answer, unless the temperature is 0. */
export type Sampling = {
  temperature: number | null
  topP: number | null
  seed: number | null
  /** Ignored where the service writes the grammar, so that every answer is complete. */
  stop: readonly string[]
  extras?: SamplingExtras | null
}

/** `logprobs`: of the piece's tokens, as the engine writes them. */
export type OnText = (piece: string, logprobs?: unknown) => void

/** In the prompts' order. A text is `{output}`; a typed answer has exactly its fields. */
export type Completions = { outputs: Record<string, OutputValue>[]; finishReasons: string[]; logprobs?: unknown[] }

/** A regex, or a grammar in Lark's syntax as llguidance reads it. */
export type EngineGrammar = { regex: string } | { grammar: string }

/** Prompts by their positions that may go to the engine together: one grammar, one length. */
export type RowGroup = {
  rows: number[]
  grammar: EngineGrammar | null
  maxTokens: number
  /** The caller wrote the grammar, so it may cut an answer short and is told why a grammar is refused. */
  isCallers?: boolean
}

/** An answer of the engine. `logprobs`: as OpenAI has them; null when they are not asked for. */
export type Choice = { index: number; text: string; finishReason: string; logprobs: unknown }

/** The prompts of an input, to measure and to count. */
export const promptsOf = (input: PromptsInput | ChatInput): readonly Prompt[] =>
  input.kind === 'chat' ? input.chats.map(({ text }) => text) : input.prompts

/** The part of an input that goes to the engine in one call. */
export function partOf(input: PromptsInput | ChatInput, indexes: readonly number[]): PromptsInput | ChatInput {
  if (input.kind === 'chat') return { kind: 'chat', chats: indexes.map((index) => input.chats[index] as MeasuredChat) }
  const { prompts, textLengths } = input
  return {
    kind: 'prompts',
    prompts: indexes.map((index) => prompts[index] as Prompt),
    textLengths: textLengths && indexes.map((index) => textLengths[index] ?? 0),
  }
}
