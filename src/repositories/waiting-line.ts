/** Since when an attempt of `attempts a` waits for a slot. */
const queuedAt = 'coalesce(a.queued_at, a.created_at)'

/**
 * The attempts that wait for a slot, as `line (id, ahead)`: how many get one before. Those of accounts with the fewest slots come
 * first, then those that have waited longest. `active (account_id, n)` counts the slots that accounts hold.
 */
export const waitingLine = `
  active as (
    select account_id, count(*) as n from attempts where granted_at is not null and released_at is null group by account_id),
  waiting as (
    select a.id, ${queuedAt} as queued,
      coalesce(active.n, 0) + row_number() over (partition by a.account_id order by ${queuedAt}, a.id) as turn
    from attempts a left join active using (account_id)
    where a.granted_at is null and a.released_at is null and a.fenced_at is null),
  line as (select id, (row_number() over (order by turn, queued, id) - 1)::int as ahead from waiting)`
