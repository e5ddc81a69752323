// Queries of the tracker sender. Only the worker that has claimed a tracker sends to it, and only its claim writes.
import type { JobTracker, TrackerState } from '../domain/tracker.ts'
import type { Connection } from './connection.ts'

/** `claim` distinguishes this claim from a later one. */
export type ClaimedTracker = JobTracker & { claim: string }

/** Three times the pause between two renewals. */
const claimSeconds = 45

export const createJobTrackerRepository = (db: Connection) => ({
  /** Claims trackers that are due. Accounts take turns, and one account has at most `perAccount` under way. */
  claim: (limit: number, perAccount: number): Promise<ClaimedTracker[]> => db.$queryRaw`
    update job_trackers set claim = gen_random_uuid(), claimed_until = now() + make_interval(secs => ${claimSeconds})
    where claimed_until <= now() and state = 'open' and id in (
      select id from (
        select id, row_number() over (partition by account_id order by due_at, id) as turn, (
            select count(*) from job_trackers busy
            where busy.account_id = t.account_id and busy.state = 'open' and busy.claimed_until > now()) as busy
        from job_trackers t where state = 'open' and due_at <= now() and claimed_until <= now()
      ) waiting where turn + busy <= ${perAccount} order by turn, id limit ${limit})
    returning id, job_id as "jobId", account_id as "accountId", request, run_id as "runId", sent_step as "sentStep",
      failure_count as "failureCount", claim`,

  /** @returns false when another worker has claimed it meanwhile */
  async renew({ id, claim }: ClaimedTracker): Promise<boolean> {
    const count = await db.$executeRaw`
      update job_trackers set claimed_until = now() + make_interval(secs => ${claimSeconds})
      where id = ${id}::uuid and claim = ${claim}::uuid`
    return count > 0
  },

  async noteRun({ id, claim }: ClaimedTracker, runId: string) {
    await db.$executeRaw`
      update job_trackers set run_id = ${runId} where id = ${id}::uuid and claim = ${claim}::uuid`
  },

  async noteSent({ id, claim }: ClaimedTracker, step: number) {
    await db.$executeRaw`
      update job_trackers set sent_step = ${step} where id = ${id}::uuid and claim = ${claim}::uuid`
  },

  /** Ends a round that the tracker took. */
  async release({ id, claim }: ClaimedTracker, { state, delayMs }: { state: TrackerState; delayMs: number }) {
    await db.$executeRaw`
      update job_trackers set claim = null, claimed_until = now(), state = ${state}, failing_since = null, failure_count = 0,
        due_at = now() + make_interval(secs => ${delayMs / 1000})
      where id = ${id}::uuid and claim = ${claim}::uuid`
  },

  /**
   * Ends a round that failed. After `giveUpMs` of failures the tracker is given up.
   * @returns null when another worker has claimed it meanwhile
   */
  async fail(
    { id, claim }: ClaimedTracker,
    { delayMs, giveUpMs }: { delayMs: number; giveUpMs: number },
  ): Promise<{ state: TrackerState; isFirst: boolean } | null> {
    const [row] = await db.$queryRaw<{ state: TrackerState; isFirst: boolean }[]>`
      update job_trackers set claim = null, claimed_until = now(), failure_count = failure_count + 1,
        failing_since = coalesce(failing_since, now()),
        due_at = now() + make_interval(secs => ${delayMs / 1000}),
        state = case when failing_since <= now() - make_interval(secs => ${giveUpMs / 1000}) then 'given_up' else 'open' end
      where id = ${id}::uuid and claim = ${claim}::uuid and state = 'open'
      returning state, failure_count = 1 as "isFirst"`
    return row ?? null
  },

  /** Lists the trackers of one job, in no order. */
  list: (jobId: number): Promise<{ id: string; state: TrackerState; runId: string | null }[]> =>
    db.jobTracker.findMany({ where: { jobId }, select: { id: true, state: true, runId: true } }) as never,
})
