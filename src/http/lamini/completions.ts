import type { IncomingHttpHeaders } from 'node:http'
import { askPrompts, createCompletion } from '../../services/completions/create.ts'
import { defineRoute } from '../kit/route.ts'
import {
  CompletionAnswer,
  CompletionList,
  CompletionListRequest,
  CompletionRequest,
  StreamingCompletionAnswer,
} from './schemas/completions.ts'
import { completionBodyLimitBytes, promptsOf, samplingOf, warn } from './completion-input.ts'

const completionRoute = {
  method: 'post',
  access: 'key',
  scope: 'inference',
  body: CompletionRequest,
  bodyLimitBytes: completionBodyLimitBytes,
  allowsNul: true,
  warns: true,
} as const

export const completionRoutes = [
  defineRoute({
    ...completionRoute,
    name: 'completions',
    errorStatuses: [404, 594],
    path: '/v1/completions',
    summary: 'Complete one prompt or many, as text or as typed fields',
    response: CompletionAnswer,
    async handle({ caller: ctx, body, signal, setHeader }) {
      const { outputs, warning } = await createCompletion({ ctx, input: inputOf(body), signal })
      warn(setHeader, body, warning)
      return oneOrMany(body, outputs)
    },
  }),
  defineRoute({
    ...completionRoute,
    name: 'completions_v2',
    errorStatuses: [404, 594],
    path: '/v2/completions',
    summary:
      'Complete one prompt or many, with the finish reason of each and, if asked for, the stored rows that were used',
    body: CompletionListRequest,
    response: CompletionList,
    async handle({ caller: ctx, body, signal, setHeader }) {
      const answer = await createCompletion({ ctx, input: inputOf(body), signal })
      const { outputs, finishReasons, usedRows, warning } = answer
      warn(setHeader, body, warning)
      const rows = body.include_rows ? { rows: usedRows ?? outputs.map(() => []) } : {}
      return { outputs, finish_reason: finishReasons, ...rows }
    },
  }),
  defineRoute({
    ...completionRoute,
    name: 'streaming_completions_v1',
    errorStatuses: [404, 594],
    path: '/v1/streaming_completions',
    summary: 'Like /v1/completions; old SDKs get the finished answer in the format that they poll for',
    response: StreamingCompletionAnswer,
    async handle({ caller: ctx, body, headers, signal, setHeader }) {
      const { outputs, warning } = await createCompletion({ ctx, input: inputOf(body), signal })
      warn(setHeader, body, warning)
      if (!isOldSdk(body, headers)) return oneOrMany(body, outputs)
      return { server: null, status: outputs.map(() => true), data: outputs }
    },
  }),
]

const inputOf = (body: CompletionRequest) =>
  askPrompts({ modelName: body.model_name, prompts: promptsOf(body), ...samplingOf(body) })

const oneOrMany = ({ prompt }: CompletionRequest, outputs: Record<string, unknown>[]) =>
  typeof prompt === 'string' ? (outputs[0] ?? {}) : outputs

/** Most old SDKs send Lamini-Version. The others are recognised by fields that they always send, null when unset. */
function isOldSdk({ output_type, out_type, max_tokens }: CompletionRequest, headers: IncomingHttpHeaders): boolean {
  const type = output_type === undefined ? out_type : output_type
  const hasExplicitNulls = type !== undefined && max_tokens !== undefined && (type === null || max_tokens === null)
  return headers['lamini-version'] !== undefined || hasExplicitNulls
}
