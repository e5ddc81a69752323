import type { GraderPod } from '../domain/python-grader.ts'
import type { Connection } from './connection.ts'
import { notify } from './notifications.ts'

/** `address` is null while the pod cannot be reached; `message` says why. `isRefused`: no wait helps. */
type Place = { address: string | null; message: string | null; isRefused: boolean }
export type GrantedPod = GraderPod & Place
type Bounds = { ofAccount: number; total: number; idleMs: number }

/** Advisory lock that serialises the grants of all workers. */
const grantLock = 4_714

/** Pods of Python graders: the api and the worker ask for them, the worker starts and removes them. */
export const createGraderPodRepository = (db: Connection) => ({
  /** Asks for a pod, or says that it is in use. */
  async want({ name, accountId, imageTag }: GraderPod): Promise<Place> {
    const [row] = await db.$queryRaw<(Place & { isNew: boolean })[]>`
      insert into grader_pods (name, account_id, image_tag) values (${name}, ${accountId}::uuid, ${imageTag})
      on conflict (name) do update set asked_at = now()
      returning address, message, refused as "isRefused", xmax = 0 as "isNew"`
    if (!row) throw new Error('no row of a grader pod')
    const { isNew, ...place } = row
    if (isNew) await notify(db, 'grader_pods')
    return place
  },

  /** Compare-and-set. */
  async forgetAddress(name: string, address: string) {
    const { count } = await db.graderPod.updateMany({ where: { name, address }, data: { address: null } })
    if (count > 0) await notify(db, 'grader_pods')
  },

  /**
   * Ends what nobody uses, and grants what there is room for: to the account with the fewest first. Needs a transaction.
   * An unused pod goes early where another one of its account waits, or any one when all are granted.
   * @returns those that are granted, and the number of those that wait
   */
  async grant({ ofAccount, total, idleMs }: Bounds): Promise<{ granted: GrantedPod[]; waiting: number }> {
    await db.$executeRaw`select pg_advisory_xact_lock(${grantLock})`
    await db.$executeRaw`
      with waiting as (
        select account_id from grader_pods where granted_at is null and asked_at > now() - interval '15 seconds'),
      held as (select account_id, count(*) as n from grader_pods where granted_at is not null group by account_id)
      delete from grader_pods as pod where
        asked_at < now() - ${idleMs}::int * interval '1 millisecond'
        or asked_at < now() - interval '1 minute' and granted_at is null
        or asked_at < now() - interval '15 seconds' and granted_at is not null and (
          account_id in (select account_id from waiting)
            and (select n from held where held.account_id = pod.account_id) >= ${ofAccount}::int
          or exists (select from waiting) and (select sum(n) from held) >= ${total}::int)`
    await db.$executeRaw`
      with line as (
        select name, granted_at, created_at,
          row_number() over (partition by account_id order by granted_at nulls last, created_at, name) as n
        from grader_pods)
      update grader_pods set granted_at = now() where name in (
        select name from line where granted_at is null and n <= ${ofAccount}::int order by n, created_at, name
        limit greatest(0, ${total}::int - (select count(*) from line where granted_at is not null)))`
    const granted = await db.graderPod.findMany({ where: { grantedAt: { not: null } }, orderBy: { name: 'asc' } })
    return {
      waiting: await db.graderPod.count({ where: { grantedAt: null } }),
      granted: granted.map(({ name, accountId, imageTag, address, message, refused: isRefused }) => ({
        ...{ name, accountId, imageTag: imageTag as GraderPod['imageTag'], address, message, isRefused },
      })),
    }
  },

  countGranted: (accountId: string): Promise<number> =>
    db.graderPod.count({ where: { accountId, grantedAt: { not: null } } }),

  async setPlace(name: string, { address, message, isRefused: refused }: Place) {
    await db.graderPod.updateMany({ where: { name }, data: { address, message, refused } })
  },
})
