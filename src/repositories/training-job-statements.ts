// Prepared statements for the queries that users repeat most.
import type { Statement } from './prepared-sql.ts'

/**
 * Each combination has its own text and so its own plan along an index, whatever the number of jobs. A filter by metadata
 * walks the index of its first pair, and takes the pairs as JSON, then that pair's key and value.
 */
export function listJobs(filters: { isAfter: boolean; hasStatus: boolean; hasMetadata: boolean }): Statement {
  const { isAfter, hasStatus, hasMetadata } = filters
  let parameter = 2
  const cursor = isAfter
    ? `< (select created_at, id from training_jobs where id = $${++parameter}::int and account_id = $1::uuid)`
    : null
  const ofStatus = hasStatus ? `and status = $${++parameter}::text` : ''
  const name = `list-jobs${isAfter ? '-after' : ''}${hasStatus ? '-of-status' : ''}${hasMetadata ? '-of-metadata' : ''}`
  if (!hasMetadata) {
    const after = cursor === null ? '' : `and (created_at, id) ${cursor}`
    return {
      name,
      text: `
    select ${summary} from training_jobs where account_id = $1::uuid ${ofStatus} ${after}
    order by created_at desc, id desc limit $2::int`,
    }
  }
  const after = cursor === null ? '' : `and (m.created_at, m.job_id) ${cursor}`
  const ofAllPairs = `and spec->'metadata' @> $${++parameter}::jsonb`
  return {
    name,
    // `offset 0` fixes the order of the join: the planner cannot know how rare the pairs are together.
    text: `
    select job.* from training_job_metadata m cross join lateral (
      select ${summary} from training_jobs where id = m.job_id ${ofStatus} ${ofAllPairs} offset 0) job
    where m.account_id = $1::uuid and m.key = $${++parameter}::text and m.value = $${++parameter}::text ${after}
    order by m.created_at desc, m.job_id desc limit $2::int`,
  }
}

/** Whole rows with their specs take four times as long. */
const summary = `id, status, created_at as "createdAt", model_name as "modelName", custom_model_name as "customModelName",
      resume_count as "resumeCount", dataset_id as "datasetId", resume_limit as "resumeLimit"`

const columns = `id, account_id as "accountId", dataset_id as "datasetId", dataset_version_id as "datasetVersionId",
      base_model as "baseModel", custom_model_name as "customModelName", is_public as "isPublic", status,
      status_reason as "statusReason", status_message as "statusMessage", spec, spec_hash as "specHash",
      prepared_data as "preparedData", generation, current_attempt as "currentAttempt", resume_count as "resumeCount",
      resume_limit as "resumeLimit", cancel_requested_at as "cancelRequestedAt", model_name as "modelName",
      pause_requested_at as "pauseRequestedAt", created_at as "createdAt", finished_at as "finishedAt", imported_job_id as "importedJobId"`

export const findJob: Statement = {
  name: 'find-job',
  text: `select ${columns} from training_jobs where id = $2::int and account_id = $1::uuid`,
}

export const findJobs: Statement = {
  name: 'find-jobs',
  text: `
    select ${columns} from training_jobs where id = any($2::int[]) and account_id = $1::uuid
    order by created_at desc, id desc`,
}
