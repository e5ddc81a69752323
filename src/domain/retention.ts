// How long what has done its work is kept; docs/reliability.md shows these to users and operators.
const hourMs = 3_600_000
const dayMs = 24 * hourMs

export const retention = {
  /** Messages that Temporal has. */
  deliveredMessagesMs: 7 * dayMs,
  /** The log of webhook deliveries. */
  webhookDeliveriesMs: 30 * dayMs,
  /** As long as an answer is replayed to its key. */
  idempotencyKeysMs: dayMs,
  /** Results of a batch, from its end on. */
  batchesMs: 7 * dayMs,
  /** Of a job that may still go on or be resumed: the newest, and one to fall back to. */
  checkpointsPerJob: 2,
  /** Uploads of a pod that were never committed, or whose bytes were wrong. */
  brokenArtifactsMs: 2 * dayMs,
  /** Folders or objects of runs that have ended. */
  endedRunsMs: dayMs,
  /** Looks of the reaper and rounds of the housekeeping, in Temporal. */
  upkeepHistoriesMs: dayMs,
} as const
