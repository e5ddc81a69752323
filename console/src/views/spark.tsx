// The newest losses of a job, and a curve of them in a few pixels. They are asked for once the row has been in sight for a moment, so that scrolling through
// thousands of jobs asks for nothing.
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { api } from '../api/client.ts'
import { sparkPath } from '../domain/curve.ts'
import { loss } from '../domain/format.ts'

const points = 60
const newestSteps = 5000
const stillMs = 300
const [width, height] = [80, 24]

type Losses = { shape: number[]; last: number | null; validLoss: number | null }

export function useLosses(id: number, isOpen: boolean, step: number | null): Losses | undefined {
  const [isStill, setStill] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setStill(true), stillMs)
    return () => clearTimeout(timer)
  }, [])
  return useQuery({
    queryKey: ['spark', id],
    enabled: isStill && step !== null,
    staleTime: isOpen ? 5000 : Number.POSITIVE_INFINITY,
    refetchInterval: isOpen ? 5000 : false,
    queryFn: async ({ signal }) => {
      const params = {
        path: { job_id: id },
        query: { since_step: Math.max(0, (step ?? 0) - newestSteps), limit: 1000 },
      }
      const { metrics } = await api.GET('/v1/train/jobs/{job_id}/metrics', { params, signal })
      const losses = metrics.map((metric) => metric.loss)
      const every = Math.max(1, Math.ceil(losses.length / points))
      return {
        shape: losses.filter((_, index) => index % every === 0),
        last: losses.at(-1) ?? null,
        validLoss: metrics.findLast((metric) => metric.valid_loss !== null)?.valid_loss ?? null,
      }
    },
  }).data
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
