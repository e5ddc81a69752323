// Prepared statements for the queries that users repeat most.
import type { Statement } from './prepared-sql.ts'

/** Each combination has its own text and so its own plan along an index, whatever the number of jobs. */
export function listJobs(filters: { isAfter: boolean; hasStatus: boolean; hasMetadata: boolean }): Statement {
  const { isAfter, hasStatus, hasMetadata } = filters
  let parameter = 2
  const cursor = isAfter
    ? `and (created_at, id) < (select created_at, id from training_jobs where id = $${++parameter}::int and account_id = $1::uuid)`
    : ''
  const ofStatus = hasStatus ? `and status = $${++parameter}::text` : ''
  const ofMetadata = hasMetadata ? `and spec->'metadata' @> $${++parameter}::jsonb` : ''
  return {
    name: `list-jobs${isAfter ? '-after' : ''}${hasStatus ? '-of-status' : ''}${hasMetadata ? '-of-metadata' : ''}`,
    // Whole rows with their specs take four times as long.
    text: `
    select id, status, created_at as "createdAt", model_name as "modelName", custom_model_name as "customModelName",
      resume_count as "resumeCount", dataset_id as "datasetId", resume_limit as "resumeLimit"
    from training_jobs where account_id = $1::uuid ${ofStatus} ${ofMetadata} ${cursor}
    order by created_at desc, id desc limit $2::int`,
  }
}

const columns = `id, account_id as "accountId", dataset_id as "datasetId", dataset_version_id as "datasetVersionId",
      base_model as "baseModel", custom_model_name as "customModelName", is_public as "isPublic", status,
      status_reason as "statusReason", status_message as "statusMessage", spec, spec_hash as "specHash",
      prepared_data as "preparedData", generation, current_attempt as "currentAttempt", resume_count as "resumeCount",
      resume_limit as "resumeLimit", cancel_requested_at as "cancelRequestedAt", model_name as "modelName",
      pause_requested_at as "pauseRequestedAt", created_at as "createdAt", finished_at as "finishedAt"`

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
