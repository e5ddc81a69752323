// What the account has used, by day and by model, and what its limits leave.
import { useQuery } from '@tanstack/react-query'
import { usageQuery, useGroupNames, type UsageGroup, type Used } from '../api/account.ts'
import { count, duration } from '../domain/format.ts'
import { Head } from '../ui/head.tsx'
import { Choice } from '../ui/labelled.tsx'
import { usePageTitle } from '../ui/page-title.ts'
import { useQueryOfAddress } from '../ui/router.tsx'
import { Answer, Empty } from '../ui/states.tsx'
import { AttemptCosts } from './attempt-costs.tsx'
import { Limits } from './limits.tsx'

const groups = { day: 'By day', model: 'By model', key: 'By key' } as const satisfies Record<UsageGroup, string>
const days = ['7', '30', '90'] as const

export function UsageView() {
  usePageTitle('Usage')
  const [query, change] = useQueryOfAddress()
  const group = (Object.keys(groups) as UsageGroup[]).find((each) => each === query.get('by')) ?? 'day'
  const span = days.find((each) => each === query.get('days')) ?? '30'
  const from = firstDay(Number(span))
  const usage = useQuery(usageQuery(from, group))
  return (
    <>
      <h1>Usage</h1>
      <div className="filters">
        <Choice
          label="Show"
          value={group}
          values={Object.keys(groups) as UsageGroup[]}
          textOf={(name) => groups[name]}
          onChange={(by) => change({ by })}
        />
        <Choice label="Last days (UTC)" value={span} values={days} onChange={(last) => change({ days: last })} />
      </div>
      <Answer query={usage} what="the usage">
        {(rows) =>
          rows.length === 0 ? <Empty>Nothing was used in these days.</Empty> : <UsageTable rows={rows} group={group} />
        }
      </Answer>
      <AttemptCosts from={from} />
      <Limits />
    </>
  )
}

const firstDay = (span: number) => new Date(Date.now() - (span - 1) * 86_400_000).toISOString().slice(0, 10)

function UsageTable({ rows, group }: { rows: Used[]; group: UsageGroup }) {
  const groupName = useGroupNames(group)
  const nameOf = (row: Used) => groupName(row) || 'without a key'
  const sum = (value: (row: Used) => number) => rows.reduce((total, row) => total + value(row), 0)
  const most = Math.max(...rows.map(({ training_seconds: a, engine_seconds: b }) => a + b))
  return (
    <table className="list">
      <Head
        columns={[
          '',
          ['Prompts', 'number'],
          ['Tokens in', 'number medium'],
          ['Tokens out', 'number medium'],
          'Training',
          ['Model servers', 'medium'],
          ['GPU time', 'wide'],
        ]}
      />
      <tbody>
        {rows.map((row) => (
          <tr key={nameOf(row)}>
            <th scope="row" className="text">
              {nameOf(row)}
            </th>
            <td className="number">{count(row.prompts)}</td>
            <td className="number medium">{count(row.prompt_tokens)}</td>
            <td className="number medium">{count(row.completion_tokens)}</td>
            <td>
              {duration(row.training_seconds)}{' '}
              <meter
                className="wide"
                min={0}
                max={most || 1}
                value={row.training_seconds + row.engine_seconds}
                aria-label={`Time of ${nameOf(row)}`}
              />
            </td>
            <td className="medium">{duration(row.engine_seconds)}</td>
            <td className="wide">{duration(row.gpu_seconds)}</td>
          </tr>
        ))}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row">Together</th>
          <td className="number">{count(sum((row) => row.prompts))}</td>
          <td className="number medium">{count(sum((row) => row.prompt_tokens))}</td>
          <td className="number medium">{count(sum((row) => row.completion_tokens))}</td>
          <td>{duration(sum((row) => row.training_seconds))}</td>
          <td className="medium">{duration(sum((row) => row.engine_seconds))}</td>
          <td className="wide">{duration(sum((row) => row.gpu_seconds))}</td>
        </tr>
      </tfoot>
    </table>
  )
}
