// How long old rows and objects are kept; docs/reliability.md has the table for operators.
import { durableWork, type WorkKind } from './durable-work.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

export type Retention = ReturnType<typeof retentionOf>

/** @param scale multiplies all these times but that of audit events */
export const retentionOf = ({ scale, auditDays }: { scale: number; auditDays: number }) => ({
  /** Postgres refuses to remove younger events than 90 days. */
  auditEventsMs: auditDays * dayMs,
  /** Keys that nothing names, since their revocation or expiry. */
  endedKeysMs: 90 * dayMs * scale,
  /** Trackers of a job, since its end: longer than a tracker is tried. */
  trackersMs: 30 * dayMs * scale,
  /** Messages that Temporal has. */
  deliveredMessagesMs: 7 * dayMs * scale,
  /** The log of webhook deliveries. */
  webhookDeliveriesMs: 30 * dayMs * scale,
  /** An answer is replayed to its key for this long. */
  idempotencyKeysMs: dayMs * scale,
  /** Since the last write of the process. */
  usageWritersMs: 7 * dayMs * scale,
  /** Stored answers of /openai/v1/responses. */
  responsesMs: 30 * dayMs * scale,
  workMs: (kind: WorkKind) => durableWork[kind].keptDays * dayMs * scale,
  /** For a job that is open or can be resumed: the newest one, and one to fall back to. */
  checkpointsPerJob: 2,
  /** Prepared rows, since the end of the last job that uses them. */
  preparedDataMs: 7 * dayMs * scale,
  /** Of `keep_rollouts`. */
  rolloutDayMs: dayMs * scale,
  /** Artifacts that were never committed, or whose bytes were wrong. */
  brokenArtifactsMs: 2 * dayMs * scale,
  /** Folders or cluster objects of ended runs. */
  endedRunsMs: dayMs * scale,
  /** Closed runs of the reaper and of retention, in Temporal. */
  housekeepingRunsMs: hourMs * scale,
})
