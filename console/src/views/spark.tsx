// The newest losses of a job, and a curve of them in a few pixels. They are asked for once the row has been in sight for a moment, so that scrolling through
// thousands of jobs asks for nothing.
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { lossesQuery, type Losses } from '../api/jobs.ts'
import { sparkPath } from '../domain/curve.ts'
import { loss } from '../domain/format.ts'

const stillMs = 300
const [width, height] = [80, 24]

export function useLosses(id: number, isOpen: boolean, step: number | null): Losses | undefined {
  const [isStill, setStill] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setStill(true), stillMs)
    return () => clearTimeout(timer)
  }, [])
  return useQuery({ ...lossesQuery(id, { isOpen, step }), enabled: isStill && step !== null }).data
}

export function Spark({ losses: data }: { losses: Losses | undefined }) {
  if (!data || data.shape.length < 2) return <span className="quiet">{loss(data?.last)}</span>
  return (
    <span className="spark">
      <svg viewBox={`-1 -1 ${width + 2} ${height + 2}`} width={width} height={height} aria-hidden="true">
        <polyline points={sparkPath(data.shape, width, height)} />
      </svg>
      <span>{loss(data.last)}</span>
    </span>
  )
}
