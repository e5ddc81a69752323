// Which attempt has made which part of the curve, why it ended, and what was lost by it.
import type { Attempt } from '../api/job.ts'
import type { Range } from '../domain/curve.ts'
import { attemptTone, partsOf } from '../domain/history.ts'
import { duration } from '../domain/format.ts'

type Props = {
  attempts: Attempt[]
  /** The newest step of the curve. */
  newest: number
  range: Range
  /** The place of a step on the axis of the range. */
  at: (step: number) => number
}

/** A narrower part has no room for its number, in percent of the width. */
const leastShare = 2

export function AttemptBand({ attempts, newest, range, at }: Props) {
  const parts = partsOf(attempts, newest)
  const width = range.max - range.min
  if (parts.length === 0 || width <= 0) return null
  const place = (step: number) => Math.max(0, Math.min(100, ((at(step) - range.min) / width) * 100))
  return (
    <ol className="band" aria-label="Attempts that the curve is made of">
      {parts.map(({ attempt, from, to }) => {
        const [left, right] = [place(from), place(to)]
        const says = saysOf(attempt as Attempt, newest)
        return (
          <li
            key={attempt.attempt}
            className={attemptTone(attempt)}
            style={{ left: `${left}%`, width: `${Math.max(0, right - left)}%` }}
            title={says}
          >
            {right - left > leastShare && <span aria-hidden="true">{attempt.attempt}</span>}
            <span className="hidden">{says}</span>
          </li>
        )
      })}
    </ol>
  )
}

function saysOf(
  { attempt, cause, ended_at: endedAt, from_step: from, last_step: last, training_seconds: seconds }: Attempt,
  newest: number,
) {
  const to = endedAt === null ? newest : (last ?? from)
  // What a running attempt has not saved yet counts as lost until its next checkpoint.
  if (endedAt === null) return `Attempt ${attempt}, steps ${from} to ${to}, runs.`
  const end = `ended: ${(cause ?? 'done').replaceAll('_', ' ')}`
  return `Attempt ${attempt}, steps ${from} to ${to}, ${end}. ${duration(seconds.lost)} lost, ${duration(seconds.productive)} kept.`
}
