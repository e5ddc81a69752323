// Trackers of experiments that a job's series are sent to.

/** As a request names it, and as the job keeps it. */
export type TrackerRequest = {
  type: 'mlflow'
  trackingUri: string
  experiment: string | null
  runName: string | null
  /** The header Authorization, encrypted with the service's secret; null for a tracker that needs none. */
  sealedAuthorization: string | null
  /** Where users reach this service; the run links to its model there. */
  serviceUrl: string | null
}

/** `given_up`: it took nothing for too long. A resume of the job opens it again. */
export type TrackerState = 'open' | 'done' | 'given_up'

export type JobTracker = {
  id: string
  jobId: number
  accountId: string
  request: TrackerRequest
  /** The tracker's own id of the run; null before there is one. */
  runId: string | null
  /** Steps up to this one were taken. */
  sentStep: number
  failureCount: number
}

export const trackersPerJob = 4

/** A tracker that takes nothing for this long is given up. */
export const giveUpMs = 24 * 3_600_000

const firstRetryMs = 2000
const longestRetryMs = 10 * 60_000

/** Wait after `failureCount` failures in a row. */
export const trackerRetryMs = (failureCount: number) => Math.min(firstRetryMs * 2 ** (failureCount - 1), longestRetryMs)
