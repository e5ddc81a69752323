// Orders work from the service for the workflows of Nexus operations. The service sees a client of its public API with one key,
// so the checks and limits are those of every client.
import { ApplicationFailure, cancellationSignal } from '@temporalio/activity'
import { setTimeout as sleep } from 'node:timers/promises'
import { isOpenEvaluation, type EvaluationStatus } from '../src/domain/model-evaluation.ts'
import { isTerminal, type TrainingJobStatus } from '../src/domain/training-job-status.ts'
import { withHeartbeat } from './heartbeat.ts'

type NexusDependencies = { apiUrl: string; apiKey: string }
export type NexusActivities = ReturnType<typeof createNexusActivities>

export type Order = { kind: keyof typeof kinds; body: object }
type Ordered = { kind: keyof typeof kinds; id: string }

/** The parts of a job or an evaluation that an operation tells its caller. */
export type Shown = {
  status: string
  job_id?: number
  model_name?: string | null
  status_message?: string | null
  id?: string
  summary?: unknown
  comparison?: unknown
  message?: string | null
}

const kinds = {
  fineTune: {
    path: '/v1/train',
    one: '/v1/train/jobs',
    isOpen: (status: string) => !isTerminal(status as TrainingJobStatus),
  },
  evaluate: {
    path: '/v1/evaluations',
    one: '/v1/evaluations',
    isOpen: (status: string) => isOpenEvaluation(status as EvaluationStatus),
  },
} as const

const askTimeoutMs = 30_000
/** A young job is looked at often; an account's watchers stay far below the limit of requests of its key. */
const firstLookMs = 500
const slowestLookMs = 10_000

export function createNexusActivities(service: NexusDependencies) {
  return {
    /** @returns the id. The same key again gets the id of the first order */
    async order({ kind, body, key }: Order & { key: string }): Promise<string> {
      const answer = await ask(service, 'POST', kinds[kind].path, { body, headers: { 'Idempotency-Key': key } })
      return String(kind === 'fineTune' ? answer.job_id : answer.id)
    },

    async cancelOrder({ kind, id }: Ordered): Promise<void> {
      await ask(service, 'POST', `${kinds[kind].one}/${id}/cancel`, { mayBeRefused: true })
    },

    untilEnded: ({ kind, id }: Ordered): Promise<Shown> =>
      withHeartbeat(async () => {
        for (let pauseMs = firstLookMs; ; pauseMs = Math.min(pauseMs * 1.5, slowestLookMs)) {
          const shown = await ask(service, 'GET', `${kinds[kind].one}/${id}`)
          if (!kinds[kind].isOpen(shown.status)) return shown
          await sleep(pauseMs, undefined, { signal: cancellationSignal() })
        }
      }),
  }
}

type Request = { body?: object; headers?: Record<string, string>; mayBeRefused?: true }

/** Whatever may pass is thrown as an error that Temporal retries. `mayBeRefused`: what has ended cannot be cancelled. */
async function ask(
  { apiUrl, apiKey }: NexusDependencies,
  method: string,
  path: string,
  { body, headers = {}, mayBeRefused }: Request = {},
): Promise<Shown> {
  const response = await fetch(apiUrl + path, {
    method,
    headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json', ...headers },
    body: body === undefined ? null : JSON.stringify(body),
    signal: AbortSignal.any([cancellationSignal(), AbortSignal.timeout(askTimeoutMs)]),
  })
  const answer = (await response.json()) as Shown & { detail?: string }
  if (response.ok || (mayBeRefused && [400, 409].includes(response.status))) return answer
  const message = answer.detail ?? `${method} ${path} answered ${response.status}.`
  // An operator replaces a key that is no longer valid; the order is fine.
  const mayPass = response.status >= 500 || [401, 408, 429].includes(response.status)
  const retryAfterSeconds = Number(response.headers.get('retry-after') ?? 0)
  throw ApplicationFailure.create({
    message,
    type: mayPass ? 'Unavailable' : 'Refused',
    nonRetryable: !mayPass,
    ...(retryAfterSeconds > 0 && { nextRetryDelay: retryAfterSeconds * 1000 }),
  })
}
