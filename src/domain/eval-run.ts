// Evals: criteria that are kept, and runs that let a model answer items and judge its answers by them. A run is an evaluation
// of one model, or of samples that come with the items.
import type { ChunkLocation } from './chunk-layout.ts'
import { textOf, type EvalCriterion, type TemplateMessage } from './eval-criteria.ts'
import { filled, roomForItem, valueAt } from './item-template.ts'
import { parsedJson } from './parsed-json.ts'
import type { ScoredAnswer } from './grader.ts'

type Json = Record<string, unknown>

export type Eval = {
  id: string
  accountId: string
  name: string
  metadata: Record<string, string> | null
  definition: EvalDefinition
  createdAt: Date
  updatedAt: Date
}
export type EvalDefinition = { itemSchema: Json; includesSample: boolean; criteria: EvalCriterion[] }

export const evalLimits = { evals: 1000, definitionCharacters: 131_072 }
/** `namedParts`: names in the templates times items. `filledCharacters`: of all items together. */
export const evalRunLimits = {
  items: 10_000,
  bytes: 16 * 1024 * 1024,
  itemCharacters: 65_536,
  templateCharacters: 131_072,
  namedParts: 10_000_000,
  filledCharacters: 1024 * 1024 * 1024,
}

/** `sample` is the answer of a model that the item brings along. */
export type EvalItem = { item: Json; sample?: Json | undefined }

/** A conversation for each item: from texts, or from a part of the item that is one. */
export type InputMessages = { template: TemplateMessage[] } | { reference: string }

export type EvalRunRequest = {
  evalId: string
  name: string
  metadata: Record<string, string> | null
  /** As the request named it, without its items. */
  dataSource: Json
  itemSchema: Json
  /** The models of judges are those that their names meant when the run was accepted. */
  criteria: EvalCriterion[]
  /**
   * Null when each item brings its sample. `fields` are those of a chat besides model and messages. `fieldsText` is their JSON,
   * because the database sorts keys, and an answer has the properties of its schema in order.
   */
  sampling: { messages: InputMessages; fields: Json; fieldsText: string } | null
  chunks: ChunkLocation[]
  /** Items of a chunk, fewer where items or their texts are long. */
  chunkSize: number
}

/** @throws MissingPart, TooLongTexts */
export function messagesOf(messages: InputMessages, { item }: EvalItem, room = roomForItem()): unknown {
  if ('reference' in messages) return valueAt(messages.reference, { item })
  return messages.template.map((message) => ({ role: message.role, content: filled(textOf(message), { item }, room) }))
}

export type SampleUsage = { prompt_tokens: number; completion_tokens: number; total_tokens: number }

/** The answer that a text names as `{{sample.…}}`. */
export type EvalSample = {
  output_text: string
  /** Absent when the text is no JSON. */
  output_json?: unknown
  output_tools?: unknown[]
  model?: string
  finish_reason?: string
  usage?: SampleUsage
}

export type CriterionResult = {
  name: string
  type: EvalCriterion['type']
  /** Null when the criterion could not be applied; `error` says why. */
  score: number | null
  passed: boolean
  label?: string
  error?: string
}

export type JudgedItem = ScoredAnswer & { sample: EvalSample | null; results: CriterionResult[] }

export type ItemOutcome = 'pass' | 'fail' | 'error'

export function outcomeOf({ error, results }: Pick<JudgedItem, 'error' | 'results'>): ItemOutcome {
  if (error !== null || results.some(({ score }) => score === null)) return 'error'
  return results.every(({ passed }) => passed) ? 'pass' : 'fail'
}

type ModelUsage = SampleUsage & { invocations: number }

export type RunSummary = {
  outcomes: Record<ItemOutcome, number>
  criteria: { name: string; passed: number; failed: number }[]
  usage: ModelUsage | null
}

export function summariseRun(criteria: readonly EvalCriterion[], items: readonly JudgedItem[]): RunSummary {
  const outcomes: RunSummary['outcomes'] = { pass: 0, fail: 0, error: 0 }
  for (const item of items) outcomes[outcomeOf(item)]++
  const resultsOf = (at: number) => items.flatMap(({ results }) => results[at] ?? [])
  const counted = criteria.map(({ name }, at) => {
    const passed = resultsOf(at).filter((result) => result.passed).length
    return { name, passed, failed: resultsOf(at).length - passed }
  })
  return { outcomes, criteria: counted, usage: usageOf(items.flatMap(({ sample }) => sample?.usage ?? [])) }
}

function usageOf(usages: readonly SampleUsage[]): ModelUsage | null {
  if (usages.length === 0) return null
  const sum = (field: keyof SampleUsage) => usages.reduce((total, usage) => total + usage[field], 0)
  return {
    invocations: usages.length,
    prompt_tokens: sum('prompt_tokens'),
    completion_tokens: sum('completion_tokens'),
    total_tokens: sum('total_tokens'),
  }
}

/** Gives templates the text of an answer, and the value of the text if it is JSON. */
export function textParts(text: string): Pick<EvalSample, 'output_text' | 'output_json'> {
  const value = parsedJson(text)
  return { output_text: text, ...(value !== undefined && { output_json: value }) }
}
