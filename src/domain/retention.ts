// How long what has done its work is kept; docs/reliability.md shows these to users and operators.
const hourMs = 3_600_000
const dayMs = 24 * hourMs

export type Retention = ReturnType<typeof retentionOf>

/** @param scale of all these times */
export const retentionOf = (scale: number) => ({
  /** Messages that Temporal has. */
  deliveredMessagesMs: 7 * dayMs * scale,
  /** The log of webhook deliveries. */
  webhookDeliveriesMs: 30 * dayMs * scale,
  /** As long as an answer is replayed to its key. */
  idempotencyKeysMs: dayMs * scale,
  /** From a process's last use on. */
  usageWritersMs: 7 * dayMs * scale,
  /** Results of a batch, from its end on. */
  batchesMs: 7 * dayMs * scale,
  /** Of a job that may still go on or be resumed: the newest, and one to fall back to. */
  checkpointsPerJob: 2,
  /** Uploads of a pod that were never committed, or whose bytes were wrong. */
  brokenArtifactsMs: 2 * dayMs * scale,
  /** Folders or objects of runs that have ended. */
  endedRunsMs: dayMs * scale,
  /** Looks of the reaper and rounds of the housekeeping, in Temporal. */
  upkeepHistoriesMs: dayMs * scale,
})
