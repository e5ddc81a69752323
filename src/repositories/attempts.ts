import type { Prisma } from '../../generated/prisma/client.ts'
import type { AttemptCause } from '../domain/attempt-outcome.ts'
import type { AttemptPhase } from '../domain/training-job-status.ts'
import type { Attempt, AttemptMode } from '../domain/training-job.ts'
import { notify } from './notifications.ts'
import type { Connection } from './database.ts'

type Position = { jobId: number; number: number }

/** Serialises the grants of all workers. */
const slotLock = 4_711
const unlimited = 2 ** 31 - 1

export const createAttemptRepository = (db: Connection) => ({
  async findByOrdinal(jobId: number, generation: number, ordinal: number): Promise<Attempt | null> {
    const row = await db.attempt.findUnique({ where: { jobId_generation_ordinal: { jobId, generation, ordinal } } })
    return row && plain(row)
  },

  async get({ jobId, number }: Position): Promise<Attempt> {
    return plain(await db.attempt.findUniqueOrThrow({ where: { jobId_number: { jobId, number } } }))
  },

  /** Makes it the job's newest attempt and fences every older one. */
  async open(
    attempt: Pick<Attempt, 'id' | 'jobId' | 'number' | 'generation' | 'ordinal' | 'accountId' | 'mode' | 'runName'> & {
      tokenHash: Uint8Array
    },
  ): Promise<Attempt> {
    await db.attempt.updateMany({ where: { jobId: attempt.jobId, fencedAt: null }, data: { fencedAt: new Date() } })
    await db.trainingJob.update({ where: { id: attempt.jobId }, data: { currentAttempt: attempt.number } })
    return plain(await db.attempt.create({ data: { ...attempt, tokenHash: Uint8Array.from(attempt.tokenHash) } }))
  },

  /**
   * Hands free slots to waiting attempts: fewest running of the account first, then oldest.
   * @returns how many attempts still wait
   */
  async grantSlots(slots: number | null): Promise<number> {
    await db.$executeRaw`select pg_advisory_xact_lock(${slotLock})`
    const granted = await db.$executeRaw`
      with active as (
        select account_id, count(*) as n from attempts where granted_at is not null and released_at is null group by account_id),
      waiting as (
        select a.id, a.created_at, coalesce(active.n, 0) + row_number() over (partition by a.account_id order by a.created_at, a.id) as turn
        from attempts a left join active using (account_id)
        where a.granted_at is null and a.released_at is null and a.fenced_at is null)
      update attempts set granted_at = now() where id in (
        select id from waiting order by turn, created_at, id
        limit greatest(0, ${slots ?? unlimited} - (select coalesce(sum(n), 0) from active)))`
    if (granted > 0) await notify(db, 'slots')
    return db.attempt.count({ where: { grantedAt: null, releasedAt: null, fencedAt: null } })
  },

  async setRunUid({ jobId, number }: Position, runUid: string) {
    await db.attempt.update({ where: { jobId_number: { jobId, number } }, data: { runUid } })
  },

  /** Once it is claimed the program has been told: nothing changes then. */
  async setStart({ jobId, number }: Position, from: { artifactId: string | null; step: number }) {
    await db.attempt.updateMany({
      where: { jobId, number, claimedAt: null },
      data: { fromArtifactId: from.artifactId, fromStep: from.step },
    })
  },

  /**
   * The pod's first act. Only the newest, unfenced attempt of a job that nobody has cancelled may be claimed, by one process.
   * @returns null when refused; `first` is false for the repeat of a claim
   */
  async claim(tokenHash: Uint8Array, claimId: string): Promise<{ attempt: Attempt; first: boolean } | null> {
    const [claimed] = await db.$queryRaw<{ id: string; first: boolean }[]>`
      with before as (select id, claim_id from attempts where token_hash = ${Buffer.from(tokenHash)} for update)
      update attempts a set claim_id = ${claimId}, claimed_at = coalesce(a.claimed_at, now()), phase = coalesce(a.phase, 'LOADING DATA')
      from training_jobs j, before
      where a.id = before.id and j.id = a.job_id and a.number = j.current_attempt
        and a.fenced_at is null and a.released_at is null and j.cancel_requested_at is null
        and (before.claim_id is null or before.claim_id = ${claimId})
      returning a.id, before.claim_id is null as first`
    if (!claimed) return null
    return { attempt: plain(await db.attempt.findUniqueOrThrow({ where: { id: claimed.id } })), first: claimed.first }
  },

  /**
   * For a write by a pod: the attempt of this token, held against fencing until the transaction ends.
   * @returns null when the attempt is fenced
   */
  async holdUnfenced(tokenHash: Uint8Array): Promise<Attempt | null> {
    const [held] = await db.$queryRaw<{ id: string }[]>`
      select a.id from attempts a join training_jobs j on j.id = a.job_id
      where a.token_hash = ${Buffer.from(tokenHash)} and a.number = j.current_attempt
        and a.fenced_at is null and a.released_at is null and a.claim_id is not null
      for share of a`
    return held ? plain(await db.attempt.findUniqueOrThrow({ where: { id: held.id } })) : null
  },

  async exists(tokenHash: Uint8Array): Promise<boolean> {
    const row = await db.attempt.findUnique({ where: { tokenHash: Uint8Array.from(tokenHash) }, select: { id: true } })
    return row !== null
  },

  async update(
    { jobId, number }: Position,
    data: { phase?: AttemptPhase; lastStep?: number; reportedCause?: string; message?: string },
  ) {
    await db.attempt.update({ where: { jobId_number: { jobId, number } }, data })
  },

  /** After this commits, its token writes nothing. */
  async fence({ jobId, number }: Position) {
    await db.attempt.updateMany({ where: { jobId, number, fencedAt: null }, data: { fencedAt: new Date() } })
  },

  /** Confirmed gone: its slot is free. */
  async release({ jobId, number }: Position, end: { cause: AttemptCause; exitCode: number | null; message: string }) {
    const now = new Date()
    await db.attempt.updateMany({
      where: { jobId, number, releasedAt: null },
      data: { ...end, endedAt: now, fencedAt: now, releasedAt: now },
    })
    await notify(db, 'slots')
  },

  async listUnreleased(jobId: number): Promise<Attempt[]> {
    const rows = await db.attempt.findMany({ where: { jobId, releasedAt: null }, orderBy: { number: 'asc' } })
    return rows.map(plain)
  },

  /** Newest first. */
  async list(jobId: number, { before, limit }: { before: number | null; limit: number }): Promise<Attempt[]> {
    const rows = await db.attempt.findMany({
      where: { jobId, ...(before === null ? {} : { number: { lt: before } }) },
      orderBy: { number: 'desc' },
      take: limit,
    })
    return rows.map(plain)
  },
})

type Row = Prisma.AttemptGetPayload<object>

function plain({ tokenHash: _tokenHash, ...row }: Row): Attempt {
  return {
    ...row,
    mode: row.mode as AttemptMode,
    phase: row.phase as AttemptPhase | null,
    cause: row.cause as AttemptCause | null,
  }
}
