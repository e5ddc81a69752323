import { randomUUID } from 'node:crypto'
import type { Ctx } from '../../services/context.ts'
import { runGrader, type Ask } from '../../services/graders/run.ts'
import { validateGrader } from '../../services/graders/validate.ts'
import { defineRoute } from '../kit/route.ts'
import { createLineAnswers } from './batch-lines.ts'
import {
  GraderRunObject,
  graderRunOf,
  GraderRunRequest,
  GraderValidated,
  GraderValidateRequest,
} from './grader-schemas.ts'

const path = '/openai/v1/fine_tuning/alpha/graders'
const chat = '/v1/chat/completions' as const

export const graderRoutes = [
  defineRoute({
    name: 'openai_run_grader',
    method: 'post',
    path: `${path}/run`,
    summary: 'Score one sample by a grader',
    access: 'key',
    scope: 'inference',
    body: GraderRunRequest,
    errorStatuses: [404],
    response: GraderRunObject,
    async handle({ caller: ctx, body, signal }) {
      const { grader, item, model_sample: modelSample } = body
      const startedMs = performance.now()
      const input = { grader, item: item ?? {}, modelSample }
      const run = await runGrader({ ctx, input, ask: asking(ctx, signal), signal })
      return graderRunOf(grader, run, (performance.now() - startedMs) / 1000)
    },
  }),
  defineRoute({
    name: 'openai_validate_grader',
    method: 'post',
    path: `${path}/validate`,
    summary: 'Check a grader without a sample',
    access: 'key',
    scope: 'inference',
    body: GraderValidateRequest,
    errorStatuses: [404],
    response: GraderValidated,
    async handle({ caller: ctx, body: { grader } }) {
      await validateGrader({ ctx, input: { grader } })
      return { grader }
    },
  }),
]

/** A judge is asked as by a line of a batch, so what the model refuses comes as an answer. */
function asking(ctx: Ctx, signal: AbortSignal): Ask {
  const { deps, accountId, apiKeyId } = ctx
  const answerLine = createLineAnswers(deps, deps.log)
  return async (body) => {
    const line = JSON.stringify({ custom_id: 'grader', method: 'POST', url: chat, body })
    const answered = await answerLine({ id: randomUUID(), accountId, apiKeyId, endpoint: chat, line }, signal)
    const { body: said } = (JSON.parse(answered.text) as { response: { body: Said } }).response
    if (answered.isError) return { refusal: said.error?.message ?? 'The model refused the request.' }
    return { text: said.choices?.[0]?.message.content ?? '', tokens: said.usage?.total_tokens ?? 0 }
  }
}

type Said = {
  error?: { message?: string }
  choices?: { message: { content: string | null } }[]
  usage?: { total_tokens: number }
}
