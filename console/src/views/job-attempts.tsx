import type { Attempt } from '../api/job.ts'
import { duration } from '../domain/format.ts'
import { Empty } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { When } from '../ui/text.tsx'

export function JobAttempts({ attempts }: { attempts: Attempt[] }) {
  if (attempts.length === 0) return <Empty>No attempt has begun yet.</Empty>
  return (
    <Table
      label="Attempts"
      rows={attempts}
      keyOf={({ attempt }) => attempt}
      columns={[
        {
          name: 'Attempt',
          isHead: true,
          cell: ({ attempt, mode }) => (
            <span>
              Attempt {attempt}
              {mode === 'evaluate' && <span className="quiet"> evaluation</span>}
            </span>
          ),
        },
        {
          name: 'How it ended',
          className: 'text',
          cell: ({ ended_at: endedAt, cause, message }) => (
            <span>
              {endedAt === null ? 'running' : (cause ?? 'done').replaceAll('_', ' ')}
              {message && <span className="quiet"> – {message}</span>}
            </span>
          ),
        },
        {
          name: 'Steps',
          cell: ({ from_step: from, last_step: last }) => `${from} to ${last ?? '–'}`,
        },
        {
          name: 'Productive',
          className: 'number',
          cell: ({ training_seconds: seconds }) => duration(seconds.productive),
        },
        { name: 'Lost', className: 'number', cell: ({ training_seconds: seconds }) => duration(seconds.lost) },
        { name: 'GPU time', className: 'number wide', cell: ({ gpu_seconds: gpu }) => duration(gpu.allocated) },
        { name: 'Began', className: 'wide', cell: ({ created_at: at }) => <When at={at} /> },
      ]}
    />
  )
}
