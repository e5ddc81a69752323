// Answers a line of a batch as the route of its endpoint would answer it alone.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createJsonCount } from '../../domain/json-bounds.ts'
import { z } from 'zod'
import { ServiceError, invalidInput } from '../../domain/service-error.ts'
import { isJsonObject } from '../../domain/answer-schema/source.ts'
import type { BatchEndpoint } from '../../domain/inference-batch.ts'
import { createAnswerRoom } from '../../domain/answer-room.ts'
import type { Log } from '../../log.ts'
import type { Ctx, ModelCtx } from '../../services/context.ts'
import { boundsOf, holdsMany } from '../kit/body-bounds.ts'
import { parseJson } from '../kit/key-order.ts'
import { describeError } from '../kit/problem.ts'
import { requireStorableText, validateBody } from '../kit/validation.ts'
import type { Route } from '../kit/route.ts'
import { completionBodyLimitBytes } from '../lamini/completion-input.ts'
import { chatRoutes } from './chat.ts'
import { completionRoutes } from './completions.ts'
import { embeddingRoutes } from './embeddings.ts'
import { openAiErrorFormat } from './errors.ts'

type Line = { id: string; accountId: string; apiKeyId: string | null; endpoint: BatchEndpoint; line: string }
type Answered = { isError: boolean; text: string }

const maxIdCharacters = 512
/** The engines' answers to one line may take as much as a whole chunk may store. */
const maxLineBytes = 64 << 20
const routes = [...chatRoutes, ...completionRoutes, ...embeddingRoutes]

const BatchLine = z.strictObject({
  custom_id: z.string().min(1).max(maxIdCharacters),
  method: z.literal('POST', { error: 'must be "POST"' }),
  url: z.string(),
  body: z.record(z.string(), z.unknown()),
})

/** @returns a function that throws what a later try may mend: a model that is away, or no room in its queue */
export function createLineAnswers(deps: ModelCtx['deps'], log: Pick<Log, 'error'>) {
  return async function answerLine(
    { id, accountId, apiKeyId, ...asked }: Line,
    signal: AbortSignal,
  ): Promise<Answered> {
    const ctx = { deps, accountId, apiKeyId }
    let customId: string | null = null
    try {
      const { value, values } = jsonOf(asked.line)
      if (!isJsonObject(value)) throw new ServiceError('invalid_input', 'The line must be a JSON object.')
      customId = customIdOf(value)
      const { url, body: request } = validateBody(BatchLine, value)
      if (url !== asked.endpoint) throw invalidInput('url', `url must be ${asked.endpoint}, as the batch has it.`)
      const body = await answer(ctx, asked.endpoint, { request, firstProblemOnly: holdsMany(values) }, signal)
      return written(id, customId, 200, body)
    } catch (error) {
      signal.throwIfAborted()
      const failure = describeError(error, { headers: {} })
      if (failure.status === 503 || failure.status === 429) throw error
      if (failure.isOurs) log.error({ err: error, batchRequest: id }, 'failed to answer a line of a batch')
      const body = openAiErrorFormat.bodyOf(failure, { path: asked.endpoint, requestId: id })
      return written(id, customId, failure.status, body)
    }
  }
}

/** A line has the bounds of the route's body. */
const bounds = boundsOf(completionBodyLimitBytes)

/** @throws ServiceError invalid_input */
function jsonOf(line: string): { value: unknown; values: number } {
  const count = createJsonCount(bounds)
  const excess = count.add(line)
  if (excess !== null) throw new ServiceError('invalid_input', `The line ${excess}.`)
  try {
    return { value: parseJson(line.replace(/^\uFEFF/, '')), values: count.values() }
  } catch (error) {
    throw new ServiceError('invalid_input', `The line is not JSON: ${error instanceof Error ? error.message : ''}.`)
  }
}

/** Names a line whose other fields are wrong. */
function customIdOf({ custom_id: id }: Record<string, unknown>): string | null {
  return typeof id === 'string' ? id.slice(0, maxIdCharacters) : null
}

type Asked = { request: object; firstProblemOnly: boolean }

async function answer(
  ctx: ModelCtx,
  endpoint: BatchEndpoint,
  { request, firstProblemOnly }: Asked,
  signal: AbortSignal,
): Promise<unknown> {
  const route = routes.find(({ path }) => path === `/openai${endpoint}`) as Route
  // A line of many values has just been counted and parsed.
  if (firstProblemOnly) await nextTurn()
  await requireStorableText(request, { allowsNul: true })
  const body = route.body ? validateBody(route.body, request, { firstProblemOnly }) : request
  const { stream, n, logprobs } = body as { stream?: boolean | null; n?: number | null; logprobs?: unknown }
  if (stream) throw invalidInput('stream', 'stream must be false in a batch.')
  // Each choice would hold its own copy of the probabilities: hundreds of megabytes a line.
  if ((n ?? 1) > 1 && logprobs) throw invalidInput('n', 'n must be 1 with logprobs in a batch.')
  return route.handle({ ...nothing, caller: asCaller(bounded(ctx)), body, signal })
}

/** All answers of a line share the room. */
function bounded(ctx: ModelCtx): ModelCtx {
  const { inference } = ctx.deps
  const room = createAnswerRoom(maxLineBytes)
  const own: ModelCtx['deps']['inference'] = {
    ...inference,
    complete: (input) => inference.complete({ ...input, room }),
    embed: (input) => inference.embed({ ...input, room }),
  }
  return { ...ctx, deps: { ...ctx.deps, inference: own } }
}

/** The routes of models use no more of a caller than models do, and none of the request's other parts. */
const asCaller = (ctx: ModelCtx) => ctx as unknown as Ctx
const nothing = {
  params: {},
  query: {},
  rows: {},
  file: null,
  headers: {},
  idempotency: null,
  setHeader: () => undefined,
  isSecure: false,
}

const written = (id: string, customId: string | null, status: number, body: unknown): Answered => ({
  isError: status !== 200,
  text: JSON.stringify({
    id,
    custom_id: customId,
    response: { status_code: status, request_id: id, body },
    error: null,
  }),
})
