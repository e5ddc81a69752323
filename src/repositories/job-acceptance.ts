// Accepts a job in one statement: quota, data set, job, events, outbox message, audit and Idempotency-Key. One statement is
// one round trip and one transaction.
import { fineTuneWorkflowPrefix } from '../domain/identifiers.ts'
import type { Person } from '../domain/person.ts'
import { openStatuses } from '../domain/training-job-status.ts'
import type { TrainingJob } from '../domain/training-job.ts'
import { hiddenDatasets } from './dataset-statements.ts'
import { mayBeTakenOver } from './idempotency-keys.ts'
import type { RunStatement } from './prepared-sql.ts'

type NewTrainingJob = Pick<
  TrainingJob,
  'accountId' | 'baseModel' | 'customModelName' | 'isPublic' | 'spec' | 'specHash' | 'resumeLimit'
> & {
  apiKeyId: string
  /** Become events of the job. */
  notes: readonly { code: string; message: string }[]
}

export type AcceptanceRequest = {
  job: NewTrainingJob
  /** `wasSeen`: the caller has just found the bytes. Otherwise the row must say that they were found before. */
  version: { id: string; uploadKey: string; datasetId?: string | undefined; wasSeen: boolean }
  /** Versions of further data sets, and of evaluation rows. */
  otherVersionIds?: string[]
  idempotency: { key: string; requestHash: Uint8Array } | null
  origin: { requestId: string; address: string }
  person: Person | null
}

/**
 * `no_room`: the account has as many open jobs as it may have. `no_data`: the account has no such version.
 * `unseen`: nobody has found the version's bytes yet. `key_taken`: another request holds the Idempotency-Key.
 */
export type Acceptance =
  | { outcome: 'accepted'; jobId: number; datasetId: string }
  | { outcome: 'unseen'; datasetId: string }
  | { outcome: 'no_room' | 'no_data' | 'key_taken' }

type Row = { jobId: number | null; datasetId: string | null; hasRoom: boolean; isSeen: boolean }

export const createJobAcceptanceRepository = (run: RunStatement) => ({
  /** Refuses when `maxOpen` jobs of the account are open. Stores {jobId, status, datasetId, warnings} as the key's answer. */
  async accept(request: AcceptanceRequest, maxOpen: number): Promise<Acceptance> {
    const [row] = await run<Row>(acceptJob, valuesOf(request, maxOpen))
    if (!row?.hasRoom) return { outcome: 'no_room' }
    const { jobId, datasetId, isSeen } = row
    if (datasetId === null) return { outcome: 'no_data' }
    if (!isSeen) return { outcome: 'unseen', datasetId }
    return jobId === null ? { outcome: 'key_taken' } : { outcome: 'accepted', jobId, datasetId }
  },
})

const valuesOf = (
  { job, version, otherVersionIds = [], idempotency, origin, person }: AcceptanceRequest,
  maxOpen: number,
) => [
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
  [version.id, ...otherVersionIds],
  person?.subject ?? null,
  person?.mail ?? null,
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
      jsonb_build_object('jobId', id, 'status', 'CREATED', 'datasetId', dataset_id, 'warnings', $18::text[]), now()
    from next where $9 is not null
    on conflict (account_id, key) do update
      set request_hash = excluded.request_hash, response = excluded.response, claimed_until = now(), created_at = now()
      where ${mayBeTakenOver}
    returning 1),
  job as (
    insert into training_jobs (id, account_id, api_key_id, dataset_version_id, dataset_id, status,
      base_model, custom_model_name, is_public, spec, spec_hash, resume_limit)
    select id, $1::uuid, $2::text, version_id, dataset_id, 'CREATED',
      $11::text, $12::text, $13::boolean, $14::jsonb, $15::text, $16::int
    from next where $9 is null or exists (select from claim)
    returning id, dataset_id),
  used as (
    update dataset_versions set used_at = now()
    where id = any($21::uuid[]) and used_at is null and exists (select from job)),
  events as (
    insert into job_events (job_id, kind, status, actor, reason, message)
    select id, 'status', 'CREATED', 'key:' || $2, null, null from job
    union all
    select id, 'note', null, 'api', code, message from job, unnest($17::text[], $18::text[]) as note (code, message)),
  message as (
    insert into outbox_messages (workflow_id, kind, generation, payload)
    select '${fineTuneWorkflowPrefix}' || id, 'start', 1, jsonb_build_object('jobId', id) from job),
  audit as (
    insert into audit_events (account_id, api_key_id, action, target, request_id, address, person_subject, person_mail)
    select $1::uuid, $2, 'job.submit', id::text, $19::text, $20::text, $22::text, $23::text from job)
  select job.id as "jobId", version.dataset_id as "datasetId", is_free as "hasRoom", is_seen as "isSeen",
    case when job.id is not null then pg_notify('outbox', '')::text end
  from room left join version on true left join job on true`,
}
