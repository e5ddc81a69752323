/** Since when an attempt of `attempts a` waits for a slot. */
const queuedAt = 'coalesce(a.queued_at, a.created_at)'

const isWaiting = 'granted_at is null and released_at is null and fenced_at is null'

/**
 * The attempts that wait for a slot, as `line (id, ahead)`: how many get one before. Those of accounts with the fewest slots come
 * first, then those of the account that got its last slot longest ago, so that one slot goes round the accounts, then those that
 * have waited longest. `active (account_id, n)` counts the slots that accounts hold.
 */
export const waitingLine = `
  active as (
    select account_id, count(*) as n from attempts where granted_at is not null and released_at is null group by account_id),
  served as (
    select account_id, (select max(s.granted_at) from attempts s where s.account_id = w.account_id) as at
    from (select distinct account_id from attempts where ${isWaiting}) w),
  waiting as (
    select a.id, ${queuedAt} as queued, served.at as served,
      coalesce(active.n, 0) + row_number() over (partition by a.account_id order by ${queuedAt}, a.id) as turn
    from attempts a join served using (account_id) left join active using (account_id) where ${isWaiting}),
  line as (select id, (row_number() over (order by turn, served nulls first, queued, id) - 1)::int as ahead from waiting)`
