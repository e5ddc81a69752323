// The loss of a job in a few pixels. It is asked for once the row is in sight.
import { useQuery } from '@tanstack/react-query'
import { getIfThere } from '../api/client.ts'
import type { Job } from '../api/job.ts'
import { sparkPath, type Metric } from '../domain/curve.ts'
import { loss } from '../domain/format.ts'

const points = 60
const [width, height] = [96, 24]

export function Spark({ id, isOpen, hasSteps }: { id: number; isOpen: boolean; hasSteps: boolean }) {
  const { data } = useQuery({
    queryKey: ['spark', id],
    enabled: hasSteps,
    staleTime: isOpen ? 5000 : Number.POSITIVE_INFINITY,
    refetchInterval: isOpen ? 5000 : false,
    queryFn: async ({ signal }) => {
      const job = await getIfThere<Job>(`/v1/train/jobs/${id}`, signal)
      const metrics = JSON.parse(job?.history ?? '[]') as Metric[]
      const losses = metrics.flatMap(({ loss: value }) => (value === null ? [] : [value]))
      const every = Math.max(1, Math.ceil(losses.length / points))
      return { shape: losses.filter((_, index) => index % every === 0), last: losses.at(-1) ?? null }
    },
  })
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
