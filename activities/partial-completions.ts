// Partial texts of streaming batches. The same request with more tokens gives the same beginning, so each partial text is a
// shorter request: at most twice the work, and the final text equals that of a plain request.
import type { BatchCompletionInput } from '../src/domain/inference-batch.ts'

/** A null output: the prompt was refused. A null reason: the text has not ended yet. */
export type Completions = { outputs: (Record<string, unknown> | null)[]; finishReasons: (string | null)[] }

const firstTokens = 8
/** The bound for a request that names none; more partial texts would only repeat the end. */
const maxTokensByDefault = 256

/** Yields the texts after 8, 16, 32... tokens until they end. Typed answers are never shown in part. */
export async function* partialCompletions(
  { outputType, maxTokens, stop }: Pick<BatchCompletionInput, 'outputType' | 'maxTokens' | 'stop'>,
  complete: (maxTokens: number) => Promise<Completions>,
): AsyncGenerator<Completions> {
  if (outputType) return
  const heldBack = Math.max(0, ...stop.map((text) => text.length - 1))
  let before = ''
  for (let tokens = firstTokens; tokens < (maxTokens ?? maxTokensByDefault); tokens *= 2) {
    const { outputs, finishReasons } = await complete(tokens)
    const text = JSON.stringify(outputs)
    // Every text has ended, or the context is full.
    if (!finishReasons.includes('length') || text === before) return
    before = text
    yield {
      outputs: outputs.map((output, index) =>
        output && finishReasons[index] === 'length' ? cut(output, heldBack) : output,
      ),
      finishReasons: finishReasons.map((reason) => (reason === 'length' ? null : reason)),
    }
  }
}

/** Drops what the next token may change: half a character, or the beginning of a stop text. */
function cut(output: Record<string, unknown>, heldBack: number): Record<string, unknown> {
  const text = String(output['output']).replace(/(?<!\ufffd)\ufffd+$/, '')
  return { output: text.slice(0, Math.max(0, text.length - heldBack)) }
}
