// Compares the clocks of the dependencies with that of this process.
import { failed, ok, warning, type Finding } from '../../domain/finding.ts'

/** How far a clock is ahead of ours; null where it was not read. */
export type ClockReading = { of: string; aheadMs: number | null }

/** Headers have whole seconds, and answers take time. */
const fineMs = 5000
/** The skew that tokens of people and the certificates of a cluster tolerate. */
const mostMs = 60_000

/** @returns how far the clock that `read` asks is ahead of ours */
export async function clockAhead(read: () => Promise<number>): Promise<number> {
  const before = Date.now()
  const theirs = await read()
  return theirs - (before + Date.now()) / 2
}

export function judgeClocks(readings: readonly ClockReading[]): Finding {
  const read = readings.flatMap(({ of, aheadMs }) => (aheadMs === null ? [] : [{ of, aheadMs }]))
  const wrong = read.filter(({ aheadMs }) => Math.abs(aheadMs) > fineMs)
  const next =
    'Keep the clocks of all machines with NTP. Also look at the clock of the machine that this command runs on.'
  if (wrong.length === 0)
    return read.length === 0
      ? { check: 'clocks', ...warning('no dependency told its time', 'Mend what is failed above.') }
      : { check: 'clocks', ...ok(`within ${fineMs / 1000} s of this process: ${read.map(({ of }) => of).join(', ')}`) }
  const says = wrong.map(({ of, aheadMs }) => `${of} is ${seconds(aheadMs)} ${aheadMs > 0 ? 'ahead' : 'behind'}`)
  const judge = wrong.some(({ aheadMs }) => Math.abs(aheadMs) > mostMs) ? failed : warning
  return { check: 'clocks', ...judge(says.join(', '), next) }
}

const seconds = (ms: number) => `${Math.round(Math.abs(ms) / 1000)} s`
