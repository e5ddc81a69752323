import type { Connection } from './connection.ts'

type WorkerReport = {
  id: string
  host: string
  pid: number
  /** Trainings that may run at once; null when the cluster decides. */
  slots: number | null
  /** Whether it takes work from every queue. */
  isPolling: boolean
  /** Activities in progress. */
  activityCount: number
  /** What its reaper has released since the process began, by kind. */
  reaped: Record<string, number>
}

/** `isReporting`: the last report is at most 30 seconds old. */
export type ReportedWorker = WorkerReport & { startedAt: Date; seenAt: Date; isReporting: boolean }

export const createWorkerRepository = (db: Connection) => ({
  /** Stores a report, and removes workers that have not reported for a day. */
  async report({ id, host, pid, slots, isPolling, activityCount, reaped }: WorkerReport) {
    await db.$executeRaw`
      with gone as (delete from workers where seen_at < now() - interval '1 day' and id <> ${id}::uuid)
      insert into workers (id, host, pid, slots, polling, activities, reaped)
      values (${id}::uuid, ${host}, ${pid}, ${slots}::int, ${isPolling}, ${activityCount}, ${JSON.stringify(reaped)}::jsonb)
      on conflict (id) do update set slots = excluded.slots, polling = excluded.polling, activities = excluded.activities,
        reaped = excluded.reaped, seen_at = now()`
  },

  /** The workers of the last day, those that report first. */
  list: (limit: number): Promise<ReportedWorker[]> =>
    db.$queryRaw`
      select id::text, host, pid, slots, polling as "isPolling", activities as "activityCount", reaped,
        started_at as "startedAt", seen_at as "seenAt", seen_at > now() - interval '30 seconds' as "isReporting"
      from workers order by seen_at desc, id limit ${limit}`,
})
