import { datasetDisplayName, jobDisplayName } from '../domain/display-name.ts'
import { wireTime } from '../domain/timestamps.ts'
import type { OperatorJob } from '../repositories/operator-views.ts'

/** A job as the lists of operators show it. */
export const operatorJobOf = (job: OperatorJob) => ({
  job_id: job.jobId,
  display_name: jobDisplayName(job),
  account_id: job.accountId,
  account_name: job.accountName,
  dataset_id: job.datasetId,
  dataset_name: datasetDisplayName(job),
  base_model: job.baseModel,
  status: job.status,
  status_reason: job.statusReason,
  status_message: job.statusMessage,
  created_at: wireTime(job.createdAt),
  finished_at: job.finishedAt && wireTime(job.finishedAt),
  attempt: job.attempt,
  phase: job.phase,
  slot_since: job.grantedAt && wireTime(job.grantedAt),
})
