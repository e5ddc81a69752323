// Activities on the server: tries, time-outs, back-off, and cancellation, which a try learns of from its heartbeat.
import { defaultPayloadConverter } from '@temporalio/common'
import { optionalTsToMs } from '@temporalio/common/lib/time.js'
import { kernel } from '../kernel.ts'
import type { Run } from './server.ts'

export type ScheduledActivity = {
  run: Run
  seq: number
  type: string
  args: unknown[]
  heartbeatMs: number | undefined
  startToCloseMs: number
  retry: { initialMs: number; maximumMs: number; coefficient: number; maximumAttempts: number }
  isWaitingForCancel: boolean
  attempt: number
  /** Identifies the running try; null between tries. */
  token: object | null
  heardMs: number
  isCancelRequested: boolean
}

export type ActivityResult = Record<'completed' | 'failed' | 'cancelled', Record<string, unknown> | undefined>

type Owner = {
  runActivity(activity: ScheduledActivity, token: object): void
  resolved(activity: ScheduledActivity, result: object): void
}

const longMs = 365 * 24 * 60 * 60_000
const cancelledResult = { cancelled: { failure: { message: 'cancelled', canceledFailureInfo: {} } } }
const timeoutFailure = { message: 'timed out', timeoutFailureInfo: { timeoutType: 4 } }

export class Activities {
  readonly #owner: Owner

  constructor(owner: Owner) {
    this.#owner = owner
  }

  schedule(run: Run, command: Record<string, unknown>) {
    const activity = fromCommand(run, command)
    run.activities.set(activity.seq, activity)
    this.#try(activity)
  }

  cancel(run: Run, seq: number) {
    const activity = run.activities.get(seq)
    if (!activity) return
    activity.isCancelRequested = true
    // An activity between two tries, or one whose end the workflow does not wait for, is cancelled at once.
    if (activity.token === null || !activity.isWaitingForCancel) this.#resolve(activity, cancelledResult)
  }

  /** @returns whether the try should go on, and if not, why */
  heartbeat(activity: ScheduledActivity, token: object): 'go on' | 'cancelled' | 'not found' {
    if (!isOpen(activity) || activity.token !== token) return 'not found'
    activity.heardMs = kernel().nowMs
    return activity.isCancelRequested ? 'cancelled' : 'go on'
  }

  done(activity: ScheduledActivity, token: object, { completed, failed, cancelled }: Partial<ActivityResult>) {
    if (activity.token !== token || !isOpen(activity)) return
    if (completed) return this.#resolve(activity, { completed })
    if (cancelled && activity.isCancelRequested) return this.#resolve(activity, cancelledResult)
    const failure = (failed?.['failure'] ?? { message: 'cancelled unasked' }) as Record<string, unknown>
    const info = failure['applicationFailureInfo'] as { nonRetryable?: boolean } | undefined
    if (info?.nonRetryable) return this.#resolve(activity, { failed: { failure: ofActivity(activity, failure) } })
    this.#retry(activity, token, failure)
  }

  #try(activity: ScheduledActivity) {
    if (!isOpen(activity)) return
    if (activity.isCancelRequested) return this.#resolve(activity, cancelledResult)
    const token = {}
    Object.assign(activity, { token, attempt: activity.attempt + 1, heardMs: kernel().nowMs })
    kernel().later(kernel().between(1, 20), () => this.#owner.runActivity(activity, token))
    kernel().later(activity.startToCloseMs, () => this.#retry(activity, token))
    this.#expectHeartbeat(activity, token)
  }

  #expectHeartbeat(activity: ScheduledActivity, token: object) {
    const { heartbeatMs } = activity
    if (heartbeatMs === undefined) return
    kernel().later(activity.heardMs + heartbeatMs - kernel().nowMs, () => {
      if (activity.token !== token || !isOpen(activity)) return
      if (kernel().nowMs - activity.heardMs >= heartbeatMs) this.#retry(activity, token)
      else this.#expectHeartbeat(activity, token)
    })
  }

  #retry(activity: ScheduledActivity, token: object, failure: Record<string, unknown> = timeoutFailure) {
    if (activity.token !== token || !isOpen(activity)) return
    activity.token = null
    const { initialMs, maximumMs, coefficient, maximumAttempts } = activity.retry
    // The server does not retry an activity that is to be cancelled: the workflow gets the result of its last try.
    if (activity.isCancelRequested || activity.attempt >= maximumAttempts)
      return this.#resolve(activity, { failed: { failure: ofActivity(activity, failure) } })
    const waitMs = Math.min(initialMs * coefficient ** (activity.attempt - 1), maximumMs)
    kernel().later(waitMs, () => this.#try(activity))
  }

  #resolve(activity: ScheduledActivity, result: object) {
    activity.run.activities.delete(activity.seq)
    activity.token = null
    this.#owner.resolved(activity, result)
  }
}

function fromCommand(run: Run, command: Record<string, unknown>): ScheduledActivity {
  const retry = (command['retryPolicy'] ?? {}) as Record<string, unknown>
  const ms = (value: unknown, otherwise: number) => optionalTsToMs(value as never) ?? otherwise
  return {
    run,
    seq: Number(command['seq']),
    type: String(command['activityType']),
    args: ((command['arguments'] ?? []) as never[]).map((each) => defaultPayloadConverter.fromPayload(each)),
    heartbeatMs: optionalTsToMs(command['heartbeatTimeout'] as never),
    startToCloseMs: ms(command['startToCloseTimeout'], longMs),
    retry: {
      initialMs: ms(retry['initialInterval'], 1000),
      maximumMs: ms(retry['maximumInterval'], 100_000),
      coefficient: Number(retry['backoffCoefficient'] ?? 2),
      maximumAttempts: Number(retry['maximumAttempts'] ?? 0) || Infinity,
    },
    isWaitingForCancel: command['cancellationType'] === 1,
    attempt: 0,
    token: null,
    heardMs: 0,
    isCancelRequested: false,
  }
}

const isOpen = ({ run, seq }: ScheduledActivity) => run.status === 'RUNNING' && run.activities.has(seq)

const ofActivity = ({ type, seq }: ScheduledActivity, cause: object) => ({
  message: 'Activity task failed',
  cause,
  activityFailureInfo: { activityType: { name: type }, activityId: String(seq), retryState: 0 },
})
