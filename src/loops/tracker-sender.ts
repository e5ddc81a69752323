// Sends the series of jobs to users' trackers, in rounds: what a tracker does not have yet, then a pause. One worker at a time
// sends to a tracker. The trainer takes no part in it.
import { giveUpMs, trackerRetryMs } from '../domain/tracker.ts'
import type { Log } from '../log.ts'
import type { Database } from '../repositories/database.ts'
import type { ClaimedTracker } from '../repositories/job-trackers.ts'
import { unseal } from '../services/trackers/authorization.ts'
import { createMlflow, TrackerError } from '../services/trackers/mlflow.ts'
import { sendNews, type NewsDependencies } from '../services/trackers/send-news.ts'
import type { Exchange } from '../services/webhooks/exchange.ts'
import type { Loop } from './run-loop.ts'

/** Per worker. */
const roundsAtOnce = 16
/** Over all workers: a tracker that does not answer holds its round for long. */
const roundsPerAccount = 4
const sweepMs = 1000
/** A third of the time for which a claim holds. */
const renewEveryMs = 15_000
const pauseMs = 3000

/** Any number of workers may run. */
export function trackerSender({
  database,
  evaluationScores,
  exchange,
  secret,
  log,
  signal,
}: {
  database: NewsDependencies['database'] & Pick<Database, 'jobEvents'>
  evaluationScores: NewsDependencies['evaluationScores']
  exchange: Exchange
  /** The service's secret, which has sealed the trackers' credentials. */
  secret: string
  log: Pick<Log, 'warn'>
  signal: AbortSignal
}): Loop {
  const { jobTrackers, jobEvents } = database
  const rounds = new Set<Promise<void>>()
  return {
    name: 'tracker sender',
    async pass() {
      const room = roundsAtOnce - rounds.size
      const claimed = room > 0 ? await jobTrackers.claim(room, roundsPerAccount) : []
      for (const tracker of claimed) begin(tracker)
      return sweepMs
    },
    drain: () => Promise.all(rounds),
  }

  function begin(tracker: ClaimedTracker) {
    const done = round(tracker)
      .catch((error: unknown) => log.warn({ tracker: tracker.id, err: error }, 'tracker round failed'))
      .finally(() => rounds.delete(done))
    rounds.add(done)
  }

  async function round(tracker: ClaimedTracker) {
    // No call is made while the scores of an evaluation are computed. A lost claim ends the round at its next call.
    const renewing = setInterval(() => void jobTrackers.renew(tracker).catch(noteLateRenewal), renewEveryMs)
    try {
      const { trackingUri } = tracker.request
      const authorization = authorizationOf(tracker)
      const beforeCall = () => keepClaim(tracker)
      const mlflow = createMlflow(exchange, { trackingUri, authorization, signal, beforeCall })
      const outcome = await sendNews({ database, evaluationScores }, tracker, mlflow)
      const state = outcome === 'done' ? 'done' : 'open'
      await jobTrackers.release(tracker, { state, delayMs: outcome === 'more' ? 0 : pauseMs })
    } catch (error) {
      // The worker stopped in the middle, or the database is away: the claim runs out, and another round begins.
      if (signal.aborted || !(error instanceof TrackerError)) throw error
      await fail(tracker, error.message)
    } finally {
      clearInterval(renewing)
    }
  }

  function authorizationOf({ request: { sealedAuthorization } }: ClaimedTracker): string | null {
    try {
      return sealedAuthorization === null ? null : unseal(secret, sealedAuthorization)
    } catch {
      throw new TrackerError(
        'Its credentials cannot be read, because ANNEAL_SECRET has changed since the job was submitted.',
      )
    }
  }

  function noteLateRenewal(error: unknown) {
    log.warn({ err: error }, 'cannot renew the claim of a tracker')
  }

  async function keepClaim(tracker: ClaimedTracker) {
    if (!(await jobTrackers.renew(tracker))) throw new Error('another worker has claimed the tracker')
  }

  async function fail(tracker: ClaimedTracker, why: string) {
    const failed = await jobTrackers.fail(tracker, { delayMs: trackerRetryMs(tracker.failureCount + 1), giveUpMs })
    if (!failed || (failed.state === 'open' && !failed.isFirst)) return
    const { host } = new URL(tracker.request.trackingUri)
    const isOver = failed.state === 'given_up'
    const next = isOver
      ? 'Nothing more is sent to it. A resume of the job tries again.'
      : `The series of this job are kept, and sent again for ${giveUpMs / 3_600_000} hours.`
    await jobEvents.add(tracker.jobId, {
      kind: 'note',
      reason: isOver ? 'tracker_given_up' : 'tracker_failing',
      message: `The MLflow server at ${host} takes nothing. ${why} ${next}`,
      actor: 'worker',
    })
  }
}
