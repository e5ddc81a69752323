import { defineRoute } from '../../http/kit/route.ts'
import { sampleAnswers } from '../../services/attempt-api/sample.ts'
import { SampleAnswer, SampleRequest } from '../schemas/sample.ts'

export const sampleRoutes = [
  defineRoute({
    name: 'sample',
    method: 'post',
    path: '/internal/v1/attempt/sample',
    summary: 'Have model servers sample answers from a policy',
    access: 'pod',
    body: SampleRequest,
    bodyLimitBytes: 64 * 1024 * 1024,
    response: SampleAnswer,
    async handle({ caller: pod, body: { policy_step: policyStep, prompts } }) {
      const answers = prompts.flatMap(({ row, tokens: prompt, max_tokens: maxTokens, answers: asked }) =>
        asked.map(({ index, seed }) => ({ row, index, prompt, maxTokens, seed })),
      )
      const { sampled, waiting, waitingFor } = await sampleAnswers({ pod, input: { policyStep, answers } })
      return {
        sampled: sampled.map(({ finishReason, ...answer }) => ({ ...answer, finish_reason: finishReason })),
        ...{ waiting, waiting_for: waitingFor },
      }
    },
  }),
]
