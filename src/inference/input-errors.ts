// The engine speaks of positions in a chunk; callers know positions in their own list.
import type { CatalogueEntry } from '../domain/catalogue.ts'
import { invalidInput } from '../domain/service-error.ts'
import { EngineRefusal } from './engine-client.ts'

/** The parts of a request that a caller wrote, as the engine calls them. */
const callersWords: Record<string, string> = {
  prompt: 'prompt',
  input: 'prompt',
  messages: 'messages',
  structured_outputs: 'output_type',
}

/** @throws ServiceError invalid_input for what the engine refuses because of the caller's input; other errors as they are */
export async function naming<T>(
  baseModel: CatalogueEntry,
  rows: readonly { index: number }[],
  call: () => Promise<T>,
): Promise<T> {
  try {
    return await call()
  } catch (error) {
    if (!(error instanceof EngineRefusal) || ![400, 413, 422].includes(error.status)) throw error
    const row = rows.length === 1 ? rows[0] : error.index === null ? undefined : rows[error.index]
    if (error.param && row && ['prompt', 'input'].includes(error.param)) throw promptTooLong(baseModel, row.index)
    const word = callersWords[error.param ?? '']
    if (word === 'output_type') throw invalidInput(word, tooComplex(baseModel))
    if (word) throw invalidInput(word, error.message)
    throw error
  }
}

export const promptTooLong = ({ name, contextLength }: CatalogueEntry, index: number) =>
  invalidInput(
    `prompt[${index}]`,
    `The prompt at position ${index} is too long: ${name} takes ${contextLength} tokens for a prompt and its answer.`,
  )

export const answerTooLong = ({ name, contextLength }: CatalogueEntry, index: number) =>
  invalidInput(
    `prompt[${index}]`,
    `The prompt at position ${index} and an answer of this output_type do not fit together into the ${contextLength} tokens of ${name}.`,
  )

const tooComplex = ({ name }: CatalogueEntry) =>
  `output_type is too complex for ${name}: use fewer fields, or shorter names and lists of values.`

/** @throws ServiceError invalid_input naming the first text with half of a surrogate pair, which no engine can read */
export function assertWellFormed(texts: readonly string[]) {
  const index = texts.findIndex((text) => !text.isWellFormed())
  if (index >= 0) throw invalidInput(`prompt[${index}]`, `The prompt at position ${index} is not valid Unicode.`)
}
