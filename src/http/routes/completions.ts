import type { IncomingHttpHeaders } from 'node:http'
import { createCompletion } from '../../services/completions/create.ts'
import type { Ctx } from '../../services/context.ts'
import { defineRoute } from '../framework/route.ts'
import {
  CompletionAnswer,
  CompletionList,
  CompletionRequest,
  StreamingCompletionAnswer,
} from '../schemas/completions.ts'
import { completionBodyLimitBytes, promptsOf, samplingOf } from './completion-input.ts'

const completionRoute = {
  method: 'post',
  access: 'key',
  scope: 'inference',
  body: CompletionRequest,
  bodyLimitBytes: completionBodyLimitBytes,
  allowsNul: true,
} as const

export const completionRoutes = [
  defineRoute({
    ...completionRoute,
    name: 'completions',
    path: '/v1/completions',
    summary: 'Complete one prompt or many, as text or as typed fields',
    response: CompletionAnswer,
    async handle({ caller: ctx, body, signal }) {
      const { outputs } = await answer(ctx, body, signal)
      return asAsked(body, outputs)
    },
  }),
  defineRoute({
    ...completionRoute,
    name: 'completions_v2',
    path: '/v2/completions',
    summary: 'Complete one prompt or many; says why each answer ended',
    response: CompletionList,
    async handle({ caller: ctx, body, signal }) {
      const { outputs, finishReasons } = await answer(ctx, body, signal)
      return { outputs, finish_reason: finishReasons }
    },
  }),
  defineRoute({
    ...completionRoute,
    name: 'streaming_completions_v1',
    path: '/v1/streaming_completions',
    summary: 'Complete as /v1/completions does; the old SDK gets the form that it polls for, done at once',
    response: StreamingCompletionAnswer,
    async handle({ caller: ctx, body, headers, signal }) {
      const { outputs } = await answer(ctx, body, signal)
      if (!isOldSdk(body, headers)) return asAsked(body, outputs)
      return { server: null, status: outputs.map(() => true), data: outputs }
    },
  }),
]

const answer = (ctx: Ctx, body: CompletionRequest, signal: AbortSignal) =>
  createCompletion({
    ctx,
    input: { modelName: body.model_name, prompts: promptsOf(body), ...samplingOf(body) },
    signal,
  })

const asAsked = ({ prompt }: CompletionRequest, outputs: Record<string, unknown>[]) =>
  typeof prompt === 'string' ? (outputs[0] ?? {}) : outputs

/** Most say their version; the others are known by the fields that they always send, null where there is nothing to say. */
function isOldSdk({ output_type, out_type, max_tokens }: CompletionRequest, headers: IncomingHttpHeaders): boolean {
  const type = output_type === undefined ? out_type : output_type
  const isSpelledOut = type !== undefined && max_tokens !== undefined && (type === null || max_tokens === null)
  return headers['lamini-version'] !== undefined || isSpelledOut
}
