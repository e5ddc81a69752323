import { defineRoute } from '../../http/kit/route.ts'
import { claimAttempt } from '../../services/attempt-api/claim.ts'
import { recordEvaluation } from '../../services/attempt-api/record-evaluation.ts'
import { recordFailure } from '../../services/attempt-api/record-failure.ts'
import { recordNotes } from '../../services/attempt-api/record-notes.ts'
import { reportAttemptLoading } from '../../services/attempt-api/report-loading.ts'
import { recordSteps } from '../../services/attempt-api/record-steps.ts'
import { reportPhase } from '../../services/attempt-api/report-phase.ts'
import {
  ClaimAnswer,
  ClaimRequest,
  Done,
  EvaluationRequest,
  FailureRequest,
  LoadingRequest,
  NotesRequest,
  PhaseRequest,
  StepsRequest,
} from '../schemas/attempt.ts'

export const attemptRoutes = [
  defineRoute({
    name: 'claim',
    method: 'post',
    path: '/internal/v1/attempt/claim',
    summary: 'Claim an attempt and get its specification',
    access: 'pod',
    body: ClaimRequest,
    response: ClaimAnswer,
    handle: ({ caller: pod, body }) =>
      claimAttempt({
        pod,
        input: {
          claimId: body.claim_id,
          runtimeVersion: body.runtime_version,
          hostname: body.hostname,
          device: body.device,
        },
      }),
  }),
  defineRoute({
    name: 'phase',
    method: 'post',
    path: '/internal/v1/attempt/phase',
    summary: 'Report the phase of the attempt',
    access: 'pod',
    body: PhaseRequest,
    response: Done,
    async handle({ caller: pod, body }) {
      await reportPhase({ pod, input: body })
      return {}
    },
  }),
  defineRoute({
    name: 'attempt_loading',
    method: 'post',
    path: '/internal/v1/attempt/loading',
    summary: 'Report how far the attempt is with fetching its base model',
    access: 'pod',
    body: LoadingRequest,
    response: Done,
    async handle({ caller: pod, body }) {
      await reportAttemptLoading({ pod, input: body })
      return {}
    },
  }),
  defineRoute({
    name: 'steps',
    method: 'post',
    path: '/internal/v1/attempt/steps',
    summary: 'Report loss and timing of steps',
    access: 'pod',
    body: StepsRequest,
    response: Done,
    async handle({ caller: pod, body }) {
      await recordSteps({ pod, input: body })
      return {}
    },
  }),
  defineRoute({
    name: 'evaluation',
    method: 'post',
    path: '/internal/v1/attempt/evaluation',
    summary: 'Report the evaluation: answers of the tuned model and its base',
    access: 'pod',
    body: EvaluationRequest,
    bodyLimitBytes: 64 * 1024 * 1024,
    allowsNul: true,
    response: Done,
    async handle({ caller: pod, body }) {
      await recordEvaluation({ pod, input: body })
      return {}
    },
  }),
  defineRoute({
    name: 'notes',
    method: 'post',
    path: '/internal/v1/attempt/notes',
    summary: 'Report settings that could not be applied, and how many rows were cut',
    access: 'pod',
    body: NotesRequest,
    response: Done,
    async handle({ caller: pod, body }) {
      await recordNotes({ pod, input: { notes: body.notes, truncatedRows: body.truncated_rows } })
      return {}
    },
  }),
  defineRoute({
    name: 'failure',
    method: 'post',
    path: '/internal/v1/attempt/failure',
    summary: 'Report why the program is about to exit with an error',
    access: 'pod',
    body: FailureRequest,
    response: Done,
    async handle({ caller: pod, body }) {
      await recordFailure({ pod, input: body })
      return {}
    },
  }),
]
