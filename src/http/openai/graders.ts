import { runGrader } from '../../services/graders/run.ts'
import { validateGrader } from '../../services/graders/validate.ts'
import { defineRoute } from '../kit/route.ts'
import { askingJudges } from './ask-judges.ts'
import { rewardOf } from '../../domain/fine-tuning-grader.ts'
import {
  GraderRunObject,
  graderRunOf,
  GraderRunRequest,
  GraderValidated,
  GraderValidateRequest,
} from './grader-schemas.ts'

const path = '/openai/v1/fine_tuning/alpha/graders'

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
      const input = { reward: rewardOf(grader), item: item ?? {}, modelSample }
      const run = await runGrader({ ctx, input, ask: askingJudges(ctx), signal })
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
      await validateGrader({ ctx, input: rewardOf(grader) })
      return { grader }
    },
  }),
]
