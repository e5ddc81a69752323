// Texts that are shown while they grow. The same request with more tokens gives the same beginning, so each look is a
// shorter run of the whole request: twice the work at most, and the end is exactly what a plain request answers.
import type { BatchCompletionInput } from '../src/domain/inference-batch.ts'

/** A null reason: not at its end yet. */
export type Completions = { outputs: Record<string, unknown>[]; finishReasons: (string | null)[] }

const firstTokens = 8
/** What a request that names no bound may reach; looks beyond the true one would only repeat the end. */
const mostTokens = 256

/** Looks at what is there after 8, 16, 32... tokens, while there is more to come. Typed answers are never shown in part. */
export async function* partialCompletions(
  { outputType, maxTokens, stop }: Pick<BatchCompletionInput, 'outputType' | 'maxTokens' | 'stop'>,
  complete: (maxTokens: number) => Promise<Completions>,
): AsyncGenerator<Completions> {
  if (outputType) return
  const heldBack = Math.max(0, ...stop.map((text) => text.length - 1))
  let before = ''
  for (let tokens = firstTokens; tokens < (maxTokens ?? mostTokens); tokens *= 2) {
    const { outputs, finishReasons } = await complete(tokens)
    const text = JSON.stringify(outputs)
    // Nothing was cut, or nothing more comes because the context is full.
    if (!finishReasons.includes('length') || text === before) return
    before = text
    yield {
      outputs: outputs.map((output, index) => (finishReasons[index] === 'length' ? cut(output, heldBack) : output)),
      finishReasons: finishReasons.map((reason) => (reason === 'length' ? null : reason)),
    }
  }
}

/** Without what the next token may change: half a character, or the beginning of a stop. */
function cut(output: Record<string, unknown>, heldBack: number): Record<string, unknown> {
  const text = String(output['output']).replace(/\ufffd+$/, '')
  return { output: text.slice(0, Math.max(0, text.length - heldBack)) }
}
