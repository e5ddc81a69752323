// Reads the fields that all completion routes share, and merges their synonyms.
import { canonicalJson } from '../../domain/identifiers.ts'
import { parseOutputType, type OutputType } from '../../domain/output-type.ts'
import { invalidInput } from '../../domain/service-error.ts'
import type { CompletionRequest } from './schemas/completions.ts'

export const completionBodyLimitBytes = 64 * 1024 * 1024

export const promptsOf = ({ prompt }: Pick<CompletionRequest, 'prompt'>) =>
  typeof prompt === 'string' ? [prompt] : prompt

export const samplingOf = (body: CompletionRequest) => ({
  dataId: body.id ?? null,
  specialTokens: body.special_tokens ?? true,
  outputType: outputTypeOf(body),
  maxTokens: smaller(body.max_tokens ?? null, body.max_new_tokens ?? null),
  temperature: body.temperature ?? null,
  topP: body.top_p ?? null,
  seed: body.seed ?? null,
  stop: typeof body.stop === 'string' ? [body.stop] : (body.stop ?? []),
})

/** Clients send either name, and some send both. */
function outputTypeOf({ output_type: one, out_type: other }: CompletionRequest): OutputType | null {
  const [first, second] = [parseOutputType(one), parseOutputType(other)]
  const areBothGiven = (one ?? null) !== null && (other ?? null) !== null
  if (areBothGiven && byName(first) !== byName(second))
    throw invalidInput(
      'out_type',
      'output_type and out_type are names of the same field. Send one of them, or the same value in both.',
    )
  return first ?? second
}

const byName = (fields: OutputType | null) =>
  canonicalJson((fields ?? []).toSorted((a, b) => (a.name < b.name ? -1 : 1)))

const smaller = (a: number | null, b: number | null) => (a === null || b === null ? (a ?? b) : Math.min(a, b))
