// Reads the fields that all completion routes share, and merges their synonyms.
import { canonicalJson } from '../../domain/identifiers.ts'
import { chatOptionsOf } from '../../domain/learned.ts'
import { parseOutputType, type OutputType } from '../../domain/output-type.ts'
import { invalidInput } from '../../domain/service-error.ts'
import { warningHeader } from '../kit/route.ts'
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
  ...chatIn(body),
})

/** The old clients' rule: a prompt is sent as it is unless the request asks for a chat. */
function chatIn({ as_chat: asChat, system }: CompletionRequest) {
  const chat = chatOptionsOf({ asChat: asChat ?? false, system: system ?? undefined }, null)
  return chat && { chat }
}

/** Warns of a field without effect, or else of what the service found. The header holds one sentence. */
export function warn(
  setHeader: (name: string, value: string) => void,
  { as_chat: isChat, special_tokens: specialTokens, system }: CompletionRequest,
  found: string | null,
) {
  const ignored =
    isChat && specialTokens
      ? 'special_tokens has no effect with as_chat: special tokens are text in a chat.'
      : !isChat && system
        ? 'system has no effect without "as_chat": true.'
        : null
  const sentence = ignored ?? found
  if (sentence !== null) setHeader(warningHeader, sentence)
}

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
