// The engine names positions in a chunk; callers know the positions in their own list.
import { maxEmbeddingTokens, type CatalogueEntry } from '../domain/catalogue.ts'
import { invalidInput, ServiceError } from '../domain/service-error.ts'
import { isText, type Prompt } from '../domain/prompt.ts'
import { EngineRefusal } from './engine-client.ts'

/** Fields of an engine request that come from the caller. */
const callersWords: Record<string, string> = {
  model: 'model_name',
  prompt: 'prompt',
  input: 'prompt',
  messages: 'messages',
  prompt_token_ids: 'prompt',
  logit_bias: 'logit_bias',
  structured_outputs: 'output_type',
}

/** @throws ServiceError invalid_input when the engine refuses the caller's input; any other error unchanged */
export async function naming<T>(
  baseModel: CatalogueEntry,
  rows: readonly { index: number }[],
  call: () => Promise<T>,
  tooLong: (baseModel: CatalogueEntry, index: number) => ServiceError = promptTooLong,
): Promise<T> {
  try {
    return await call()
  } catch (error) {
    if (!(error instanceof EngineRefusal) || ![400, 413, 422].includes(error.status)) throw error
    const row = rows.length === 1 ? rows[0] : error.index === null ? undefined : rows[error.index]
    if (error.param && row && ['prompt', 'input'].includes(error.param)) throw tooLong(baseModel, row.index)
    const word = callersWords[error.param ?? '']
    if (word === 'output_type') throw invalidInput(word, tooComplex(baseModel))
    if (word) throw invalidInput(word, error.message)
    throw error
  }
}

/** @throws ServiceError invalid_input with the engine's own words about the caller's grammar */
export async function namingGrammar<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    if (!(error instanceof EngineRefusal) || error.param !== 'structured_outputs') throw error
    throw invalidInput('structured_outputs', `structured_outputs: ${error.message}`)
  }
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

/** @throws ServiceError invalid_input naming the first text that holds half of a surrogate pair, which no engine can read */
export function assertWellFormed(prompts: readonly Prompt[]) {
  const index = prompts.findIndex((prompt) => isText(prompt) && !prompt.isWellFormed())
  if (index >= 0) throw invalidInput(`prompt[${index}]`, `The prompt at position ${index} is not valid Unicode.`)
}
