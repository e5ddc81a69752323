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
  EvaluationRequest,
  FailureRequest,
  LoadingRequest,
  NotesRequest,
  PhaseRequest,
  StepsRequest,
} from '../schemas/attempt.ts'
import { reportRoute } from './report.ts'

export const attemptRoutes = [
  defineRoute({
    name: 'claim',
    method: 'post',
    path: '/internal/v1/attempt/claim',
    summary: 'Claim an attempt and get its specification',
    access: 'pod',
    body: ClaimRequest,
    response: ClaimAnswer,
    handle: ({ caller: pod, body: { claim_id: claimId, runtime_version: runtimeVersion, ...machine } }) =>
      claimAttempt({ pod, input: { claimId, runtimeVersion, ...machine } }),
  }),
  reportRoute(
    { name: 'phase', path: 'attempt/phase', summary: 'Report the phase of the attempt', body: PhaseRequest },
    reportPhase,
  ),
  reportRoute(
    {
      name: 'attempt_loading',
      path: 'attempt/loading',
      summary: 'Report how far the attempt is with fetching its base model',
      body: LoadingRequest,
    },
    reportAttemptLoading,
  ),
  reportRoute(
    { name: 'steps', path: 'attempt/steps', summary: 'Report loss and timing of steps', body: StepsRequest },
    recordSteps,
  ),
  reportRoute(
    {
      name: 'evaluation',
      path: 'attempt/evaluation',
      summary: 'Report the evaluation: answers of the tuned model and its base',
      body: EvaluationRequest,
      bodyLimitBytes: 64 * 1024 * 1024,
      allowsNul: true,
    },
    recordEvaluation,
  ),
  reportRoute(
    {
      name: 'notes',
      path: 'attempt/notes',
      summary: 'Report settings that could not be applied, and what the run learns of its rows',
      body: NotesRequest,
    },
    ({ pod, input: { notes, truncated_rows: truncatedRows, row_counts: rowCounts } }) =>
      recordNotes({ pod, input: { notes, truncatedRows, rowCounts } }),
  ),
  reportRoute(
    {
      name: 'failure',
      path: 'attempt/failure',
      summary: 'Report why the program is about to exit with an error',
      body: FailureRequest,
    },
    recordFailure,
  ),
]
