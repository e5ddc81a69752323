// The grammar of the structured answers that a training samples: the first of those that an answer of a model server may get.
import type { AskedSchema } from '../domain/answer-shape.ts'
import { invalidInput } from '../domain/service-error.ts'
import { TooComplex } from './answer-grammar/rules.ts'
import type { SchemaThreads } from './schema-threads.ts'

type Asked = { accountId: string; signal: AbortSignal; schema: AskedSchema; maxTokens: number }

/**
 * @returns null when `maxTokens` leave no room for an answer
 * @throws ServiceError invalid_input naming the schema
 */
export async function sampledGrammar(
  schemas: Pick<SchemaThreads, 'run'>,
  { schema, maxTokens, ...caller }: Asked,
): Promise<string | null> {
  const shape = { kind: 'schema', schema } as const
  try {
    if (maxTokens < (await schemas.run(caller, 'leastOfAnswer', shape, null))) return null
    const [first] = await schemas.run(caller, 'planTries', shape, maxTokens)
    return first ? await schemas.run(caller, 'writeAnswer', shape, first) : null
  } catch (error) {
    if (!(error instanceof TooComplex)) throw error
    throw invalidInput(schema.at, `${schema.at} is too complex for max_completion_tokens: simplify it.`)
  }
}
