// Why work that nothing hinders has not started: other work comes first, or an operator has stopped new work.
import { minuteOf } from './timestamps.ts'

export const waitingForSlot = 'waiting_for_slot'
export const inMaintenance = 'maintenance'
const waitingForTurn = 'waiting_for_turn'

/** While it stands, accepted work does not start. `message` is the operator's own sentence; '' without one. */
export type Maintenance = { since: Date; message: string }

export type Wait = { reason: string; message: string }

/** @param slots null where a cluster decides how many attempts run */
export function slotWait(slots: number | null, maintenance: Maintenance | null): Wait {
  if (maintenance) return { reason: inMaintenance, message: maintenanceText('job', maintenance) }
  const inUse = slots === 1 ? 'the only one is' : `all ${slots === null ? '' : `${slots} `}are`
  return { reason: waitingForSlot, message: `Waiting for a free slot: ${inUse} in use.` }
}

/** @param what names the work in a sentence, such as "batch" */
export const turnWait = (what: string, maintenance: Maintenance | null): Wait =>
  maintenance
    ? { reason: inMaintenance, message: maintenanceText(what, maintenance) }
    : { reason: waitingForTurn, message: 'Waiting for its turn: earlier work of this account comes first.' }

function maintenanceText(what: string, { since, message }: Maintenance): string {
  const own = message === '' ? '' : ` ${/[.!?]$/.test(message) ? message : `${message}.`}`
  return `An operator stopped new work at ${minuteOf(since)}.${own} The ${what} starts once new work goes on.`
}

/** What an operator reads of a place in the line: "92 ahead; 1 slot, held by job 6 since 2026-11-20 03:20 UTC". */
export function placeText(
  ahead: number,
  { slots, longest, at }: { slots: number | null; longest: { jobId: number; since: Date } | null; at: Date },
): string {
  const place = ahead === 0 ? 'Next in line' : `${ahead} ahead`
  const count = slots === null ? 'slots as the cluster decides' : `${slots} ${slots === 1 ? 'slot' : 'slots'}`
  const held = longest
    ? `, ${slots === 1 ? '' : 'the longest '}held by job ${longest.jobId} since ${minuteOf(longest.since)}`
    : ''
  return `${place}; ${count}${held} (as of ${minuteOf(at)})`
}
