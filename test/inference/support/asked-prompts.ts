import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../../tools/paths.mjs'
import { parseCatalogue } from '../../../src/domain/catalogue.ts'
import type { OutputType } from '../../../src/domain/output-type.ts'
import type { Prompt } from '../../../src/domain/prompt.ts'
import type { CompletionRequest, Sampling } from '../../../src/inference/request.ts'

/** The catalogue's smallest model for completions. */
export const tiny = parseCatalogue(JSON.parse(readFileSync(join(root, 'models.json'), 'utf8'))).defaultCompletionModel

export type More = Partial<Omit<CompletionRequest, 'sampling'>> & {
  outputType?: OutputType | null
  sampling?: Partial<Sampling> & { maxTokens?: number | null }
}

/** A request of one account for answers to these prompts: greedy text unless it says more. */
export function askedPrompts(
  baseModel: CompletionRequest['baseModel'],
  prompts: readonly Prompt[],
  { outputType = null, sampling: { maxTokens = null, ...sampling } = {}, ...more }: More = {},
): CompletionRequest {
  return {
    ...{ baseModel, adapter: null, accountId: 'one', signal: new AbortController().signal },
    input: { kind: 'prompts', prompts },
    answer: outputType ? { kind: 'typed', outputType, maxTokens } : { kind: 'text', maxTokens },
    sampling: { temperature: null, topP: null, seed: null, stop: [], ...sampling },
    ...more,
  }
}
