import { fixed } from '../domain/format.ts'

type Interval = { mean: number; low: number; high: number }
type Props = {
  /** One name for each thing that has scores, such as "tuned" and "base". The best is drawn in the accent. */
  scores: readonly { name: string; score: Interval }[]
  /** The end of the scale. */
  most?: number
}

/** A tuned model beside its base. */
export function TunedAndBase({ tuned, base }: { tuned: Interval; base: Interval }) {
  const scores = [
    { name: 'tuned', score: tuned },
    { name: 'base', score: base },
  ]
  return <ScoreBars most={Math.max(1, tuned.high, base.high)} scores={scores} />
}

/** Means as bars, each with the interval in which the mean lies. */
export function ScoreBars({ scores, most = 1 }: Props) {
  const share = (value: number) => `${Math.max(0, Math.min(100, (100 * value) / most))}%`
  const best = Math.max(...scores.map(({ score }) => score.mean))
  return (
    <ul className="score-bars">
      {scores.map(({ name, score: { mean, low, high } }) => (
        <li
          key={name}
          className={mean === best ? 'best' : undefined}
          title={`${name}: ${fixed(mean)}, 95 % of the time between ${fixed(low)} and ${fixed(high)}`}
        >
          <span className="quiet">{name}</span>
          <span className="track" aria-hidden="true">
            <span className="bar" style={{ width: share(mean) }} />
            <span className="interval" style={{ left: share(low), width: share(high - low) }} />
          </span>
          <span>
            <strong>{fixed(mean)}</strong>
            <span className="hidden">
              , between {fixed(low)} and {fixed(high)}
            </span>
          </span>
        </li>
      ))}
    </ul>
  )
}
