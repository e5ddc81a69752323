// Reads what an answer must look like: the schemas of a request's response_format and tools, together.
import { readSchemas } from '../../domain/answer-schema/read-schemas.ts'
import {
  mapSchemas,
  schemasOf,
  type AnswerShape,
  type AskedSchema,
  type CallsShape,
} from '../../domain/answer-shape.ts'
import type { ModelCtx } from '../../services/context.ts'
import { shapeOf } from './response-format.ts'
import { callsOf, type SentCalls } from './tools.ts'

export type Calls = Pick<SentCalls, 'tools' | 'finishReason'> & { shape: CallsShape }

type Asked = Parameters<typeof shapeOf>[0] & Parameters<typeof callsOf>[0]

/** @throws ServiceError invalid_input naming the part of the schema */
export async function readShapes(
  { deps: { inference }, accountId }: { deps: Pick<ModelCtx['deps'], 'inference'>; accountId: string },
  asked: Asked,
  signal: AbortSignal,
): Promise<{ calls: Calls | null; shape: AnswerShape | null }> {
  const content = shapeOf(asked)
  const calls = callsOf(asked, content)
  const sent = calls?.shape ?? content
  if (sent?.kind !== 'schema' && sent?.kind !== 'calls') return { calls: null, shape: sent }
  const read = await readSchemas(schemasOf(sent), (large) => inference.readSchemas(large, { accountId, signal }))
  const inOrder = read.values()
  const shape = mapSchemas(sent, () => inOrder.next().value as AskedSchema)
  if (!calls || shape.kind !== 'calls') return { calls: null, shape }
  const functions = shape.functions.filter(({ name }) => calls.only === null || name === calls.only)
  return { calls: { ...calls, shape: { ...shape, functions } }, shape: { ...shape, functions } }
}
