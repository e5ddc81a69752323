import type { Connection } from './connection.ts'

/** Waiting work of all accounts. Ages are those of the oldest in seconds; 0 when nothing waits. */
export type Backlog = {
  outboxMessages: number
  outboxAgeSeconds: number
  attemptsWaiting: number
  attemptsRunning: number
  /** Unreleased attempts that were cancelled or superseded, or whose job has ended. */
  releases: number
  releaseAgeSeconds: number
  /** Age of the oldest delivery that is due. */
  webhookLagSeconds: number
}

/** The attempts of one account that are not released. `waitingSeconds` is the age of the oldest one without a slot. */
export type AccountQueue = {
  accountId: string
  name: string
  priority: string
  waiting: number
  running: number
  waitingSeconds: number
}

export const createBacklogRepository = (db: Connection) => ({
  async measure(): Promise<Backlog> {
    const [row] = await db.$queryRaw<Backlog[]>`
      select outbox.n as "outboxMessages", outbox.age as "outboxAgeSeconds", attempts.waiting as "attemptsWaiting",
        attempts.running as "attemptsRunning", attempts.releases, attempts.age as "releaseAgeSeconds",
        coalesce((
          select extract(epoch from now() - d.due_at) from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id
          where d.due_at <= now() and e.disabled_at is null order by d.due_at limit 1), 0)::float8 as "webhookLagSeconds"
      from (
        select count(*)::int as n, coalesce(extract(epoch from now() - min(created_at)), 0)::float8 as age
        from outbox_messages where delivered_at is null) as outbox,
      (
        select count(*) filter (where granted_at is null and ends_at is null)::int as waiting,
          count(*) filter (where granted_at is not null and ends_at is null)::int as running,
          count(ends_at)::int as releases, coalesce(extract(epoch from now() - min(ends_at)), 0)::float8 as age
        from (
          select a.granted_at, coalesce(a.fenced_at, j.cancel_requested_at, j.finished_at) as ends_at
          from attempts a join training_jobs j on j.id = a.job_id where a.released_at is null) as unreleased) as attempts`
    if (!row) throw new Error('the backlog query returned no row')
    return row
  },

  /** The accounts with attempts, those with the oldest waiting one first. */
  listQueues: (limit: number): Promise<AccountQueue[]> =>
    db.$queryRaw`
      select account.id as "accountId", account.name, account.priority,
        count(*) filter (where a.granted_at is null)::int as waiting, count(a.granted_at)::int as running,
        coalesce(extract(epoch from now() - min(a.created_at) filter (where a.granted_at is null)), 0)::float8
          as "waitingSeconds"
      from attempts a join training_jobs j on j.id = a.job_id join accounts account on account.id = a.account_id
      where a.released_at is null and a.fenced_at is null and j.cancel_requested_at is null and j.finished_at is null
      group by account.id order by "waitingSeconds" desc, running desc, account.id limit ${limit}`,
})
