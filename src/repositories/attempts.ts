import { Prisma } from '../../generated/prisma/client.ts'
import type { AttemptCause } from '../domain/attempt-cause.ts'
import { fineTuneWorkflowPrefix } from '../domain/identifiers.ts'
import type { RowCounts } from '../domain/row-tokens.ts'
import { ServiceError } from '../domain/service-error.ts'
import type { AttemptPhase } from '../domain/training-job-status.ts'
import type { Attempt, AttemptMode } from '../domain/training-job.ts'
import { isInMaintenance } from './installation.ts'
import { notify } from './notifications.ts'
import type { Connection } from './connection.ts'
import { waitingLine } from './waiting-line.ts'

type Position = { jobId: number; number: number }
type AttemptEnd = { cause: AttemptCause; exitCode: number | null; message: string }
type AttemptLook = {
  phase: AttemptPhase | null
  ranForMs: number
  /** Milliseconds since the newest claim, phase or step; null before the claim. */
  silentForMs: number | null
  /** Median of the job's newest steps; null before the first. */
  medianStepMs: number | null
  /** Run time of all attempts of this generation. */
  jobRanForMs: number
  /** The newest step of the job; null before the first. */
  step: number | null
  loss: number | null
}

/** Advisory lock that serialises the grants of all workers. */
const slotLock = 4_711
const unlimited = 2 ** 31 - 1

export const createAttemptRepository = (db: Connection) => ({
  async findByOrdinal(jobId: number, generation: number, ordinal: number): Promise<Attempt | null> {
    const row = await db.attempt.findUnique({ where: { jobId_generation_ordinal: { jobId, generation, ordinal } } })
    return row && plain(row)
  },

  /** @throws ServiceError not_found */
  async get({ jobId, number }: Position): Promise<Attempt> {
    const row = await db.attempt.findUnique({ where: { jobId_number: { jobId, number } } })
    if (!row) throw new ServiceError('not_found', `There is no attempt ${number} of job ${jobId}.`)
    return plain(row)
  },

  /** Adds the job's newest attempt and fences every older one. */
  async open(
    attempt: Pick<Attempt, 'id' | 'jobId' | 'number' | 'generation' | 'ordinal' | 'accountId' | 'mode' | 'runName'> & {
      tokenHash: Uint8Array
      queuedAt?: Date | null
    },
  ): Promise<Attempt> {
    await db.attempt.updateMany({ where: { jobId: attempt.jobId, fencedAt: null }, data: { fencedAt: new Date() } })
    await db.trainingJob.update({ where: { id: attempt.jobId }, data: { currentAttempt: attempt.number } })
    const opened = plain(
      await db.attempt.create({ data: { ...attempt, tokenHash: Uint8Array.from(attempt.tokenHash) } }),
    )
    await notify(db, 'waits')
    return opened
  },

  /**
   * Hands free slots to waiting attempts in the order of `waitingLine`. Hands out none in maintenance. Signals their workflows, except the one of the asking job. Needs a transaction.
   */
  async grantSlots(slots: number | null, askingJobId: number | null = null) {
    await db.$executeRaw`select pg_advisory_xact_lock(${slotLock})`
    const told = await db.$executeRaw`
      with ${Prisma.raw(waitingLine)},
      granted as (
        update attempts set granted_at = now() where id in (
          select id from line order by ahead
          limit case when ${Prisma.raw(isInMaintenance)} then 0
            else greatest(0, ${slots ?? unlimited} - (select coalesce(sum(n), 0) from active)) end)
        returning job_id, generation, number)
      insert into outbox_messages (workflow_id, kind, generation, payload)
      select ${fineTuneWorkflowPrefix}::text || job_id, 'slot', generation, jsonb_build_object('attempt', number) from granted
      where job_id is distinct from ${askingJobId}::int order by job_id`
    if (told > 0) await notify(db, 'outbox')
  },

  /**
   * Repeats the slot signal for slots that seem unused, because a restored Temporal may have lost it. The first repeat
   * follows a minute without a sign of the attempt, the next ones after twice the time each.
   */
  async resendSlotSignals(afterMs = 60_000) {
    const told = await db.$executeRaw`
      insert into outbox_messages (workflow_id, kind, generation, payload)
      select ${fineTuneWorkflowPrefix}::text || a.job_id, 'slot', a.generation, jsonb_build_object('attempt', a.number) from attempts a
      where a.released_at is null and a.granted_at is not null
        and greatest(a.granted_at, a.heard_at) <= now() - ${afterMs}::float8 * interval '1 millisecond'
        and not exists (
          select from outbox_messages m where m.workflow_id = ${fineTuneWorkflowPrefix}::text || a.job_id and m.kind = 'slot'
            and m.created_at > now() - (now() - a.granted_at) / 2)
      order by a.job_id`
    if (told > 0) await notify(db, 'outbox')
  },

  async setRunUid({ jobId, number }: Position, runUid: string) {
    await db.attempt.update({ where: { jobId_number: { jobId, number } }, data: { runUid } })
  },

  /** Changes nothing after the claim: the program knows its start by then. */
  async setStart({ jobId, number }: Position, from: { artifactId: string | null; step: number; at: Date | null }) {
    await db.attempt.updateMany({
      where: { jobId, number, claimedAt: null },
      data: { fromArtifactId: from.artifactId, fromStep: from.step, fromAt: from.at },
    })
  },

  /**
   * Claims an attempt for one process. The attempt must be the job's newest, unfenced, and the job not cancelled.
   * @returns null when refused; `first` is false for a repeat
   */
  async claim(tokenHash: Uint8Array, claimId: string): Promise<{ attempt: Attempt; first: boolean } | null> {
    const [claimed] = await db.$queryRaw<{ id: string; first: boolean }[]>`
      with before as (select id, claim_id from attempts where token_hash = ${Buffer.from(tokenHash)} for update)
      update attempts a set claim_id = ${claimId}, claimed_at = coalesce(a.claimed_at, now()), heard_at = now(), phase = coalesce(a.phase, 'LOADING DATA')
      from training_jobs j, before
      where a.id = before.id and j.id = a.job_id and a.number = j.current_attempt
        and a.fenced_at is null and a.released_at is null and j.cancel_requested_at is null
        and (before.claim_id is null or before.claim_id = ${claimId})
      returning a.id, before.claim_id is null as first`
    if (!claimed) return null
    return { attempt: plain(await db.attempt.findUniqueOrThrow({ where: { id: claimed.id } })), first: claimed.first }
  },

  /**
   * Finds and locks a pod's attempt for a write. Until the transaction ends, the attempt cannot be fenced. The lock is
   * exclusive, because two shared ones that both upgrade would deadlock.
   * @returns null when the attempt is fenced
   */
  async holdUnfenced(tokenHash: Uint8Array): Promise<Attempt | null> {
    const [held] = await db.$queryRaw<{ id: string }[]>`
      select a.id from attempts a join training_jobs j on j.id = a.job_id
      where a.token_hash = ${Buffer.from(tokenHash)} and a.number = j.current_attempt
        and a.fenced_at is null and a.released_at is null and a.claim_id is not null
      for no key update of a`
    return held ? plain(await db.attempt.findUniqueOrThrow({ where: { id: held.id } })) : null
  },

  async exists(tokenHash: Uint8Array): Promise<boolean> {
    const row = await db.attempt.findUnique({ where: { tokenHash: Uint8Array.from(tokenHash) }, select: { id: true } })
    return row !== null
  },

  async update(
    { jobId, number }: Position,
    data: Partial<
      Pick<Attempt, 'phase' | 'lastStep' | 'savedStep' | 'savedAt' | 'truncatedRows' | 'reportedCause' | 'message'>
    > & { rowCounts?: RowCounts },
  ) {
    await db.attempt.update({ where: { jobId_number: { jobId, number } }, data })
    await db.$executeRaw`
      update attempts set heard_at = now(),
        working_at = coalesce(working_at, case when phase <> 'LOADING DATA' then now() end)
      where job_id = ${jobId} and number = ${number}`
  },

  /** Stores the cause before the release, so that a worker's death does not lose it. The first cause stands. */
  async recordEnd({ jobId, number }: Position, end: AttemptEnd) {
    await db.attempt.updateMany({ where: { jobId, number, cause: null, releasedAt: null }, data: end })
  },

  /** Reads what the limits of a running attempt need. Times use the database's clock. */
  async lookAt({ jobId, number }: Position): Promise<AttemptLook> {
    const [look] = await db.$queryRaw<AttemptLook[]>`
      select a.phase,
        extract(epoch from now() - coalesce(a.claimed_at, now()))::float8 * 1000 as "ranForMs",
        extract(epoch from now() - greatest(a.heard_at, (
          select max(greatest(created_at, committed_at)) from artifacts where job_id = a.job_id and attempt = a.number
        )))::float8 * 1000 as "silentForMs",
        (select percentile_cont(0.5) within group (order by iter_time) from (
          select iter_time from training_steps s where s.job_id = a.job_id order by step desc limit 20) recent
        ) * 1000 as "medianStepMs",
        (select coalesce(sum(extract(epoch from coalesce(g.ended_at, now()) - g.claimed_at)), 0)::float8 * 1000 from attempts g
          where g.job_id = a.job_id and g.generation = a.generation and g.claimed_at is not null) as "jobRanForMs",
        newest.step, newest.loss
      from attempts a
      left join lateral (select * from training_steps s where s.job_id = a.job_id order by s.step desc limit 1) newest on true
      where a.job_id = ${jobId} and a.number = ${number}`
    if (!look) throw new Error(`there is no attempt ${number} of job ${jobId}`)
    return look
  },

  /** Whether another job would get this attempt's slot: none does in maintenance. On a cluster, that job must have waited for a minute. */
  async othersWait({ jobId, number }: Position): Promise<boolean> {
    const waiting = await db.$queryRaw<unknown[]>`
      with running as (
        select account_id, count(*) as n from attempts where granted_at is not null and released_at is null group by account_id)
      select from attempts mine join attempts w on w.job_id <> mine.job_id
      where mine.job_id = ${jobId} and mine.number = ${number} and not ${Prisma.raw(isInMaintenance)}
        and w.released_at is null and w.fenced_at is null and w.claimed_at is null
        and (w.granted_at is null or w.granted_at < now() - interval '1 minute')
        and (w.account_id = mine.account_id
          or coalesce((select n from running where account_id = w.account_id), 0) < (select n from running where account_id = mine.account_id))
      limit 1`
    return waiting.length > 0
  },

  /** Notes how many bytes of the log the object store holds, and wakes those who follow the job. */
  async noteLog({ jobId, number }: Position, logBytes: number) {
    await db.$executeRaw`update attempts set log_bytes = ${logBytes} where job_id = ${jobId} and number = ${number}`
    await notify(db, 'training_jobs', String(jobId))
  },

  /** After the commit, the attempt's token cannot write. */
  async fence({ jobId, number }: Position) {
    await db.attempt.updateMany({ where: { jobId, number, fencedAt: null }, data: { fencedAt: new Date() } })
  },

  /** Marks an attempt as gone: frees its slot and counts its usage, once. */
  async release({ jobId, number }: Position, { cause, exitCode, message }: AttemptEnd) {
    await db.$executeRaw`
      with released as (
        update attempts set cause = ${cause}, exit_code = ${exitCode}, message = ${message},
          ended_at = now(), fenced_at = now(), released_at = now()
        where job_id = ${jobId} and number = ${number} and released_at is null
        returning job_id, account_id, claimed_at)
      insert into usage_days as old (account_id, day, api_key_id, model, training_seconds, gpu_seconds, training_gpu_seconds)
      select r.account_id, (now() at time zone 'utc')::date, j.api_key_id, j.base_model, ran.seconds,
        ran.seconds * has.gpus, ran.seconds * has.gpus
      from released r join training_jobs j on j.id = r.job_id,
        lateral (select extract(epoch from now() - r.claimed_at)::float8 as seconds) ran,
        lateral (select coalesce((j.spec->>'nodes')::int, 1)
          * coalesce((j.spec->>'gpus')::int, (j.spec->'baseModel'->'resources'->>'gpuCount')::int, 0) as gpus) has
      where r.claimed_at is not null
      on conflict (account_id, day, api_key_id, model) do update set
        training_seconds = old.training_seconds + excluded.training_seconds,
        gpu_seconds = old.gpu_seconds + excluded.gpu_seconds,
        training_gpu_seconds = old.training_gpu_seconds + excluded.training_gpu_seconds`
    await notify(db, 'slots')
  },

  /** Leaves out attempts of later generations, which belong to a newer workflow run. */
  async listUnreleased(jobId: number, generation: number): Promise<Attempt[]> {
    const rows = await db.attempt.findMany({ where: { jobId, releasedAt: null }, orderBy: { number: 'asc' } })
    return rows.map(plain).filter((attempt) => attempt.generation <= generation)
  },

  /** Lists the job's attempts, newest first. */
  async list(jobId: number, { before, limit }: { before: number | null; limit: number }): Promise<Attempt[]> {
    const rows = await db.attempt.findMany({
      where: { jobId, ...(before === null ? {} : { number: { lt: before } }) },
      orderBy: { number: 'desc' },
      take: limit,
    })
    return rows.map(plain)
  },

  /** Maps attempt numbers to the time from which a later attempt repeated their work. Others are absent. */
  async repeatedFrom(jobId: number, { from, to }: { from: number; to: number }): Promise<Map<number, Date>> {
    const rows = await db.$queryRaw<{ number: number; at: Date }[]>`
      with repeated as (
        select number, min(case when from_artifact_id is null then 'epoch' else from_at end)
          filter (where mode = 'train' and claimed_at is not null)
          over (order by number desc rows between unbounded preceding and 1 preceding) as at
        from attempts where job_id = ${jobId} and number >= ${from})
      select number, at from repeated where number <= ${to} and at is not null`
    return new Map(rows.map(({ number, at }) => [number, at]))
  },
})

type Row = Prisma.AttemptGetPayload<object>

function plain({
  tokenHash: _tokenHash,
  logBytes: _logBytes,
  queuedAt: _queuedAt,
  toldReason: _reason,
  toldAhead: _ahead,
  ...row
}: Row): Attempt {
  return {
    ...row,
    mode: row.mode as AttemptMode,
    rowCounts: row.rowCounts as Attempt['rowCounts'],
    phase: row.phase as AttemptPhase | null,
    cause: row.cause as AttemptCause | null,
  }
}
