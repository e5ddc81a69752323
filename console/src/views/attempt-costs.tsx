// What the attempts of trainings have cost, by why they ended.
import { useQuery } from '@tanstack/react-query'
import { trainingUsageQuery, useGroupNames } from '../api/account.ts'
import { count, duration } from '../domain/format.ts'
import { Head } from '../ui/head.tsx'
import { Choice } from '../ui/labelled.tsx'
import { useQueryOfAddress } from '../ui/router.tsx'
import { Answer, Empty } from '../ui/states.tsx'

const splits = ['', 'day', 'model', 'key'] as const

export function AttemptCosts({ from }: { from: string }) {
  const [query, change] = useQueryOfAddress()
  const by = splits.find((each) => each === query.get('split')) ?? ''
  const nameOf = useGroupNames(by)
  const training = useQuery(trainingUsageQuery(from, by))
  return (
    <>
      <h2>Attempts of the jobs of these days</h2>
      <div className="filters">
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
            <Empty>No attempt has run.</Empty>
          ) : (
            <table className="list">
              <Head
                columns={[
                  'Ended by',
                  ['Attempts', 'number'],
                  'Productive',
                  'Lost',
                  ['GPU time, productive', 'medium'],
                  ['GPU time, lost', 'medium'],
                ]}
              />
              <tbody>
                {causes.map((row) => {
                  const { cause, attempts, training_seconds: time, gpu_seconds: gpu } = row
                  const group = nameOf(row)
                  return (
                    <tr key={`${group} ${cause}`}>
                      <th scope="row" className="text">
                        {group && <span className="quiet">{group}: </span>}
                        {cause?.replaceAll('_', ' ') ?? 'running'}
                      </th>
                      <td className="number">{count(attempts)}</td>
                      <td>{duration(time.productive)}</td>
                      <td>{duration(time.lost)}</td>
                      <td className="medium">{duration(gpu.productive)}</td>
                      <td className="medium">{duration(gpu.lost)}</td>
                    </tr>
                  )
                })}
              </tbody>
            </table>
          )
        }
      </Answer>
    </>
  )
}
