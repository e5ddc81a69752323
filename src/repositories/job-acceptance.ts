// Accepting a job: the row, what announces it, what it came from and what it answers, in one statement. So it is one round
// trip and one commit, and all of it happens or nothing.
import { fineTuneWorkflowPrefix } from '../domain/identifiers.ts'
import { openStatuses } from '../domain/training-job-status.ts'
import type { TrainingJob } from '../domain/training-job.ts'
import { hiddenDatasets } from './datasets.ts'
import type { RunStatement } from './prepared-sql.ts'

type NewTrainingJob = Pick<
  TrainingJob,
  'accountId' | 'baseModel' | 'customModelName' | 'isPublic' | 'spec' | 'specHash' | 'resumeLimit'
> & {
  apiKeyId: string
  /** Told in the job's events. */
  notes: readonly { code: string; message: string }[]
}

export type AcceptanceRequest = {
  job: NewTrainingJob
  /** `wasSeen`: its bytes were just seen. Otherwise it counts only when they were seen before. */
  version: { id: string; uploadKey: string; datasetId?: string | undefined; wasSeen: boolean }
  /** Of rows to evaluate on that came with the request. */
  evaluationVersionId?: string | undefined
  /** `isClaimed`: this request holds the key already. */
  idempotency: { key: string; requestHash: Uint8Array; isClaimed: boolean } | null
  origin: { requestId: string; address: string }
}

/**
 * `no_room`: as many jobs are open as may be. `no_data`: no such version. `unseen`: nobody has seen its bytes yet.
 * `key_taken`: the key is another request's.
 */
export type Acceptance =
  | { outcome: 'accepted'; jobId: number; datasetId: string }
  | { outcome: 'unseen'; datasetId: string }
  | { outcome: 'no_room' | 'no_data' | 'key_taken' }

type Row = { jobId: number | null; datasetId: string | null; hasRoom: boolean; isSeen: boolean }

export const createJobAcceptanceRepository = (run: RunStatement) => ({
  /** Unless `maxOpen` jobs of the account are open. The key's answer is {jobId, status, datasetId}. */
  async accept(request: AcceptanceRequest, maxOpen: number): Promise<Acceptance> {
    const [row] = await run<Row>(acceptJob, valuesOf(request, maxOpen))
    if (!row?.hasRoom) return { outcome: 'no_room' }
    const { jobId, datasetId, isSeen } = row
    if (datasetId === null) return { outcome: 'no_data' }
    if (!isSeen) return { outcome: 'unseen', datasetId }
    return jobId === null ? { outcome: 'key_taken' } : { outcome: 'accepted', jobId, datasetId }
  },
})

const valuesOf = ({ job, version, evaluationVersionId, idempotency, origin }: AcceptanceRequest, maxOpen: number) => [
  job.accountId,
  job.apiKeyId,
  version.id,
  version.uploadKey,
  version.datasetId ?? null,
  version.wasSeen,
  openStatuses,
  maxOpen,
  idempotency?.key ?? null,
  idempotency ? Buffer.from(idempotency.requestHash) : null,
  idempotency?.isClaimed ?? false,
  job.baseModel,
  job.customModelName,
  job.isPublic,
  JSON.stringify(job.spec),
  job.specHash,
  job.resumeLimit,
  job.notes.map(({ code }) => code),
  job.notes.map(({ message }) => message),
  origin.requestId,
  origin.address,
  evaluationVersionId === undefined ? [version.id] : [version.id, evaluationVersionId],
]

const acceptJob = {
  name: 'accept-job',
  text: `
  with version as (
    select id, dataset_id, ($6::boolean or used_at is not null or size_bytes is not null) as is_seen from dataset_versions
    where id = $3::uuid and account_id = $1::uuid and upload_key = $4::text and ($5::text is null or dataset_id = $5)
      and dataset_id not like '${hiddenDatasets}%'
    for key share),
  room as (
    select not exists (
      select from training_jobs where account_id = $1::uuid and status = any($7::text[]) offset $8::int - 1 limit 1) as is_free),
  next as (
    select nextval('training_jobs_id_seq')::int as id, version.id as version_id, dataset_id
    from version, room where is_free and is_seen),
  claim as (
    insert into idempotency_keys as old (account_id, key, request_hash, response, claimed_until)
    select $1::uuid, $9::text, $10::bytea,
      jsonb_build_object('jobId', id, 'status', 'CREATED', 'datasetId', dataset_id), now()
    from next where $9 is not null
    on conflict (account_id, key) do update set response = excluded.response where $11::boolean and old.response is null
    returning 1),
  job as (
    insert into training_jobs (id, account_id, api_key_id, dataset_version_id, dataset_id, status,
      base_model, custom_model_name, is_public, spec, spec_hash, resume_limit)
    select id, $1::uuid, $2::text, version_id, dataset_id, 'CREATED',
      $12::text, $13::text, $14::boolean, $15::jsonb, $16::text, $17::int
    from next where $9 is null or exists (select from claim)
    returning id, dataset_id),
  used as (
    update dataset_versions set used_at = now()
    where id = any($22::uuid[]) and used_at is null and exists (select from job)),
  events as (
    insert into job_events (job_id, kind, status, actor, reason, message)
    select id, 'status', 'CREATED', 'key:' || $2, null, null from job
    union all
    select id, 'note', null, 'api', code, message from job, unnest($18::text[], $19::text[]) as note (code, message)),
  message as (
    insert into outbox_messages (workflow_id, kind, generation, payload)
    select '${fineTuneWorkflowPrefix}' || id, 'start', 1, jsonb_build_object('jobId', id) from job),
  audit as (
    insert into audit_events (account_id, api_key_id, action, target, request_id, address)
    select $1::uuid, $2, 'job.submit', id::text, $20::text, $21::text from job)
  select job.id as "jobId", version.dataset_id as "datasetId", is_free as "hasRoom", is_seen as "isSeen",
    case when job.id is not null then pg_notify('outbox', '')::text end
  from room left join version on true left join job on true`,
}
