// The engine names positions in a chunk; callers know the positions in their own list.
import { maxEmbeddingTokens, type CatalogueEntry } from '../domain/catalogue.ts'
import { invalidInput, ServiceError } from '../domain/service-error.ts'
import { isText, type Prompt } from '../domain/prompt.ts'
import { maxTextCharacters } from '../domain/text-length.ts'
import { EngineRefusal } from './engine-client.ts'

/** Fields of an engine request that come from the caller. */
const callersWords: Record<string, string> = {
  model: 'model_name',
  prompt: 'prompt',
  input: 'prompt',
  prompt_token_ids: 'prompt',
  logit_bias: 'logit_bias',
  structured_outputs: 'output_type',
}

type Asked = { rows: readonly number[]; tooLong?: typeof promptTooLong; isCallersGrammar?: boolean }

/** @returns ServiceError invalid_input when the engine refused the caller's input; any other error unchanged */
export function naming(
  error: unknown,
  baseModel: CatalogueEntry,
  { rows, tooLong = promptTooLong, isCallersGrammar = false }: Asked,
): unknown {
  if (!(error instanceof EngineRefusal)) return error
  // The engine's own words are about the caller's grammar.
  if (isCallersGrammar && error.param === 'structured_outputs')
    return invalidInput('structured_outputs', `structured_outputs: ${error.message}`)
  if (![400, 413, 422].includes(error.status)) return error
  const row = rows.length === 1 ? rows[0] : error.index === null ? undefined : rows[error.index]
  if (error.param && row !== undefined && ['prompt', 'input'].includes(error.param)) return tooLong(baseModel, row)
  if (error.param === 'messages' && row !== undefined) return invalidInput(`prompt[${row}]`, error.message)
  const word = callersWords[error.param ?? '']
  if (word === 'output_type') return invalidInput(word, tooComplex(baseModel))
  return word ? invalidInput(word, error.message) : error
}

// The words "maximum context length is" are OpenAI's: clients look for them.
export const promptTooLong = ({ contextLength }: CatalogueEntry, index: number) =>
  beyondContext(
    index,
    `The prompt at position ${index} is too long. This model's maximum context length is ${contextLength} tokens, for the prompt and its answer together. Shorten the prompt.`,
  )

export const answerTooLong = ({ contextLength }: CatalogueEntry, index: number) =>
  beyondContext(
    index,
    `The prompt at position ${index} leaves no room for the answer that output_type asks for. This model's maximum context length is ${contextLength} tokens, for the prompt and its answer together. Shorten the prompt.`,
  )

export const textTooLong = (baseModel: CatalogueEntry, index: number) =>
  beyondContext(
    index,
    `The text at position ${index} is too long. This model's maximum context length is ${maxEmbeddingTokens(baseModel)} tokens for a text to embed. Split the text, or send "truncate": true to embed only its first ${baseModel.contextLength} tokens.`,
  )

const beyondContext = (index: number, message: string) =>
  new ServiceError('invalid_input', message, {
    issues: [{ path: `prompt[${index}]`, message }],
    isBeyondContext: true,
  })

export const tooComplex = ({ name }: CatalogueEntry) =>
  `output_type is too complex for ${name}: use fewer fields, or shorter names, patterns and lists of values.`

/**
 * @throws ServiceError invalid_input naming the first prompt that is certainly too long, or that holds half of a surrogate pair,
 * which no engine can read
 */
export function requireReadable(baseModel: CatalogueEntry, prompts: readonly Prompt[]) {
  const { contextLength } = baseModel
  const most = (prompt: Prompt) => (isText(prompt) ? maxTextCharacters(contextLength) : contextLength)
  // First: a conversation of 64 MB becomes one text only when its characters are looked at.
  const tooLong = prompts.findIndex((prompt) => prompt.length > most(prompt))
  if (tooLong >= 0) throw promptTooLong(baseModel, tooLong)
  requireWellFormed(prompts)
}

export function requireWellFormed(prompts: readonly Prompt[]) {
  const index = prompts.findIndex((prompt) => isText(prompt) && !prompt.isWellFormed())
  if (index >= 0) throw invalidInput(`prompt[${index}]`, `The prompt at position ${index} is not valid Unicode.`)
}
