// What the attempts of trainings have cost, by why they ended.
import { useQuery } from '@tanstack/react-query'
import { trainingUsageQuery, useGroupNames } from '../api/account.ts'
import { count, duration } from '../domain/format.ts'
import { Choice } from '../ui/labelled.tsx'
import { useQueryOfAddress } from '../ui/router.tsx'
import { Answer, Empty } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'

const splits = ['', 'day', 'model', 'key'] as const

type Costs = { gpu_seconds: { productive: number; lost: number } }

/** Left out where no attempt had a GPU. */
const gpuColumns = [
  {
    name: 'GPU time, productive',
    className: 'number medium',
    cell: ({ gpu_seconds: gpu }: Costs) => duration(gpu.productive),
  },
  { name: 'GPU time, lost', className: 'number medium', cell: ({ gpu_seconds: gpu }: Costs) => duration(gpu.lost) },
]

export function AttemptCosts({ from }: { from: string }) {
  const [query, change] = useQueryOfAddress()
  const by = splits.find((each) => each === query.get('split')) ?? ''
  const nameOf = useGroupNames(by)
  const training = useQuery(trainingUsageQuery(from, by))
  return (
    <>
      <div className="title">
        <h2>Attempts of jobs in these days</h2>
        <Choice
          label="Split by"
          value={by}
          values={splits}
          textOf={(each) => each || 'nothing else'}
          onChange={(split) => change({ split })}
        />
      </div>
      <Answer query={training} what="the attempts">
        {(causes) =>
          causes.length === 0 ? (
            <Empty>
              <p>No attempt has run in these days.</p>
            </Empty>
          ) : (
            <Table
              label="Attempts"
              isDense
              rows={causes}
              keyOf={(row) => `${nameOf(row).id ?? nameOf(row).name} ${row.cause}`}
              columns={[
                {
                  name: 'Ended by',
                  isHead: true,
                  className: 'text',
                  cell: (row) => (
                    <>
                      {nameOf(row).name && (
                        <span className="quiet" title={nameOf(row).id}>
                          {nameOf(row).name}:{' '}
                        </span>
                      )}
                      {row.cause?.replaceAll('_', ' ') ?? 'running'}
                    </>
                  ),
                },
                { name: 'Attempts', className: 'number', cell: ({ attempts }) => count(attempts) },
                {
                  name: 'Productive',
                  className: 'number',
                  cell: ({ training_seconds: time }) => duration(time.productive),
                },
                { name: 'Lost', className: 'number', cell: ({ training_seconds: time }) => duration(time.lost) },
                ...(causes.some(({ gpu_seconds: gpu }) => gpu.productive + gpu.lost > 0) ? gpuColumns : []),
              ]}
            />
          )
        }
      </Answer>
    </>
  )
}
