// A curve of losses in a few pixels, and the last one.
import { sparkPath } from '../domain/curve.ts'
import { loss } from '../domain/format.ts'

const [width, height] = [64, 20]

export function Spark({ losses }: { losses: readonly number[] }) {
  const last = losses.at(-1)
  if (losses.length < 2) return <span className="quiet">{loss(last)}</span>
  return (
    <span className="spark">
      <svg viewBox={`-1 -1 ${width + 2} ${height + 2}`} width={width} height={height} aria-hidden="true">
        <polyline points={sparkPath(losses, width, height)} />
      </svg>
      <span className="number">{loss(last)}</span>
    </span>
  )
}
