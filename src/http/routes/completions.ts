import { canonicalJson } from '../../domain/identifiers.ts'
import { parseOutputType, type OutputType } from '../../domain/output-type.ts'
import { invalidInput } from '../../domain/service-error.ts'
import { complete } from '../../services/complete.ts'
import { defineRoute } from '../edge/route.ts'
import { CompletionAnswer, CompletionRequest } from '../schemas/completions.ts'

export const completionRoutes = [
  defineRoute({
    name: 'completions',
    method: 'post',
    path: '/v1/completions',
    summary: 'Complete one prompt or many, as text or as typed fields',
    access: 'key',
    scope: 'inference',
    body: CompletionRequest,
    bodyLimitBytes: 64 * 1024 * 1024,
    allowsNul: true,
    response: CompletionAnswer,
    async handle({ caller: ctx, body, signal }) {
      const isSingle = typeof body.prompt === 'string'
      const input = {
        dataId: body.id ?? null,
        modelName: body.model_name,
        prompts: typeof body.prompt === 'string' ? [body.prompt] : body.prompt,
        outputType: outputTypeOf(body),
        maxTokens: smaller(body.max_tokens ?? null, body.max_new_tokens ?? null),
        temperature: body.temperature ?? null,
        topP: body.top_p ?? null,
        seed: body.seed ?? null,
        stop: typeof body.stop === 'string' ? [body.stop] : (body.stop ?? []),
      }
      const { outputs } = await complete({ ctx, input, signal })
      return isSingle ? (outputs[0] ?? {}) : outputs
    },
  }),
]

/** Clients write it either way, some write both. */
function outputTypeOf({ output_type: one, out_type: other }: CompletionRequest): OutputType | null {
  const [first, second] = [parseOutputType(one), parseOutputType(other)]
  const areBothGiven = (one ?? null) !== null && (other ?? null) !== null
  if (areBothGiven && byName(first) !== byName(second))
    throw invalidInput('out_type', 'output_type and out_type are two names of one field, and must not differ.')
  return first ?? second
}

const byName = (fields: OutputType | null) =>
  canonicalJson((fields ?? []).toSorted((a, b) => (a.name < b.name ? -1 : 1)))

const smaller = (a: number | null, b: number | null) => (a === null || b === null ? (a ?? b) : Math.min(a, b))
