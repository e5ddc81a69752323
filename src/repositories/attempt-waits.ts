// What is told of attempts that wait: to users in the reason of the job, to operators in the workflow of the job.
import { inMaintenance, waitingForSlot, type Wait } from '../domain/wait.ts'
import type { Connection } from './connection.ts'
import type { RunStatement, Statement } from './prepared-sql.ts'
import { waitingLine } from './waiting-line.ts'

/** `ahead` is null when the attempt has its slot and waits for its program. */
export type UntoldWait = Wait & { attemptId: string; jobId: number; number: number; ahead: number | null }

export const createAttemptWaitRepository = (db: Connection, run: RunStatement) => ({
  /** Whether an attempt waits for a slot or for its program. */
  async exist(): Promise<boolean> {
    const [row] = await db.$queryRaw<{ exist: boolean }[]>`
      select exists (select from attempts where released_at is null and claimed_at is null) as exist`
    return row?.exist ?? false
  },

  /**
   * Corrects the reason of jobs that wait for a slot, after the beginning or the end of a maintenance. Leaves out jobs that
   * another transaction holds.
   */
  async explain({ reason, message }: Wait) {
    await db.$executeRaw`
      update training_jobs set status_reason = ${reason}, status_message = ${message} where id in (
        select j.id from training_jobs j join attempts a on a.job_id = j.id and a.number = j.current_attempt
        where a.granted_at is null and a.released_at is null and a.fenced_at is null
          and j.status = 'QUEUED' and j.cancel_requested_at is null
          and (j.status_reason, j.status_message) is distinct from (${reason}, ${message})
          and (j.status_reason = ${inMaintenance} or j.status_reason = ${waitingForSlot})
        order by j.id for update of j skip locked)`
  },

  /**
   * Takes waits of which the workflow was not told yet: the reason is another one, or the place has halved or doubled since,
   * so that a long line costs each workflow few signals.
   */
  takeUntold: (limit: number, afterMs = 10_000): Promise<UntoldWait[]> => run(takeUntoldWaits, [limit, afterMs]),

  /** The workflows of these attempts are told again. */
  async forget(attemptIds: readonly string[]) {
    await db.$executeRaw`update attempts set told_reason = null where id = any(${[...attemptIds]}::uuid[])`
  },

  /** The attempt that has held a slot for the longest time. */
  async longestHeld(): Promise<{ jobId: number; since: Date } | null> {
    const [held] = await db.$queryRaw<{ jobId: number; since: Date }[]>`
      select job_id as "jobId", granted_at as since from attempts
      where released_at is null and granted_at is not null order by granted_at, id limit 1`
    return held ?? null
  },
})

const takeUntoldWaits: Statement = {
  name: 'take-untold-waits',
  text: `
    with ${waitingLine},
    untold as (
      select a.id, j.status_reason, j.status_message, line.ahead
      from attempts a join training_jobs j on j.id = a.job_id and j.current_attempt = a.number left join line on line.id = a.id
      where a.released_at is null and a.fenced_at is null and a.claimed_at is null
        and a.created_at <= now() - $2::float8 * interval '1 millisecond'
        and j.status = 'QUEUED' and j.status_reason is not null and j.cancel_requested_at is null
        and (a.told_reason is distinct from j.status_reason
          or line.ahead < a.told_ahead and line.ahead <= a.told_ahead / 2 or line.ahead > 2 * a.told_ahead + 1)
      order by line.ahead nulls first, a.id limit $1::int for update of a skip locked)
    update attempts set told_reason = untold.status_reason, told_ahead = untold.ahead from untold where attempts.id = untold.id
    returning attempts.id as "attemptId", attempts.job_id as "jobId", attempts.number, untold.status_reason as reason,
      coalesce(untold.status_message, '') as message, untold.ahead`,
}
