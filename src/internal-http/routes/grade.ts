import { defineRoute } from '../../http/kit/route.ts'
import { askingJudges } from '../../http/openai/ask-judges.ts'
import { gradeSamplesOfStep } from '../../services/attempt-api/grade.ts'
import { GradeAnswer, GradeRequest } from '../schemas/grade.ts'

export const gradeRoutes = [
  defineRoute({
    name: 'grade',
    method: 'post',
    path: '/internal/v1/attempt/grade',
    summary: 'Grade samples of a reinforcement step',
    access: 'pod',
    body: GradeRequest,
    bodyLimitBytes: 64 * 1024 * 1024,
    allowsNul: true,
    response: GradeAnswer,
    async handle({ caller: pod, body: { samples, ...of } }) {
      const toGrade = samples.map(({ tool_calls: toolCalls, finish_reason: finishReason, ...sample }) => ({
        ...{ ...sample, text: sample.text.toWellFormed().replaceAll('\0', '\u{fffd}') },
        ...{ toolCalls: toolCalls ?? null, finishReason },
      }))
      const { waitingFor, ...answer } = await gradeSamplesOfStep({
        pod,
        input: { ...of, samples: toGrade },
        askOf: askingJudges,
      })
      return { ...answer, waiting_for: waitingFor }
    },
  }),
]
