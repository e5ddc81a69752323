// What the account has used, by day and by model, and what its limits leave.
import { useQuery } from '@tanstack/react-query'
import {
  trainingUsageQuery,
  usageQuery,
  useGroupNames,
  type Usage,
  type UsageGroup,
  type Used,
} from '../api/account.ts'
import { count, duration, money } from '../domain/format.ts'
import { lastDays } from '../domain/usage-bars.ts'
import { Figures } from '../ui/figures.tsx'
import { Choice } from '../ui/labelled.tsx'
import { usePageTitle } from '../ui/page-title.ts'
import { useQueryOfAddress } from '../ui/router.tsx'
import { Answer, Empty } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { Tabs } from '../ui/tabs.tsx'
import { AttemptCosts } from './attempt-costs.tsx'
import { Limits } from './limits.tsx'
import { UsageBars } from './usage-bars.tsx'

const groups = { day: 'By day', model: 'By model', key: 'By key' } as const satisfies Record<UsageGroup, string>
const days = ['7', '30', '90'] as const

export function UsageView() {
  usePageTitle('Usage')
  const [query, change] = useQueryOfAddress()
  const group = (Object.keys(groups) as UsageGroup[]).find((each) => each === query.get('by')) ?? 'day'
  const span = days.find((each) => each === query.get('days')) ?? '30'
  const shownDays = lastDays(Number(span), new Date())
  const from = shownDays[0] ?? ''
  const usage = useQuery(usageQuery(from, group))
  const byDay = useQuery(usageQuery(from, 'day,model'))
  return (
    <>
      <div className="title">
        <h1>Usage</h1>
        <Choice label="Last days (UTC)" value={span} values={days} onChange={(last) => change({ days: last })} />
      </div>
      <Answer query={byDay} what="the usage of each day">
        {({ rows, currency }) =>
          rows.length === 0 ? (
            <Empty>
              <p>Nothing was counted in these days. Prompts appear here within a minute, trainings when they end.</p>
            </Empty>
          ) : (
            <>
              <Sums rows={rows} currency={currency} />
              <UsageBars rows={rows} days={shownDays} currency={currency} />
            </>
          )
        }
      </Answer>
      <Running from={from} />
      <Tabs
        label="Show"
        value={group}
        values={Object.keys(groups) as UsageGroup[]}
        textOf={(name) => groups[name]}
        onChange={(by) => change({ by: by === 'day' ? '' : by })}
      />
      <Answer query={usage} what="the usage">
        {({ rows, currency }) => rows.length > 0 && <UsageTable rows={rows} group={group} currency={currency} />}
      </Answer>
      <AttemptCosts from={from} />
      <Limits />
    </>
  )
}

/** The sums hold the time of attempts that have ended. */
function Running({ from }: { from: string }) {
  const running = useQuery(trainingUsageQuery(from, '')).data?.find(({ cause }) => cause === null)
  if (!running) return null
  const { attempts, training_seconds: time, gpu_seconds: gpu } = running
  return (
    <p className="quiet">
      Not counted yet: {attempts === 1 ? 'a training' : `${count(attempts)} trainings`} still running, with{' '}
      {duration(time.allocated)} so far{gpu.allocated > 0 && ` (${duration(gpu.allocated)} of GPUs)`}.
    </p>
  )
}

const sumOf = (rows: readonly Used[], value: (row: Used) => number) =>
  rows.reduce((total, row) => total + value(row), 0)

const Sums = ({ rows, currency }: Usage) => (
  <Figures
    figures={[
      ...(currency === undefined ? [] : [['Cost', money(sumOf(rows, costOf), currency)] as const]),
      ['Time', duration(sumOf(rows, (row) => row.training_seconds + row.engine_seconds))],
      ...(hasGpu(rows) ? [['GPU time', duration(sumOf(rows, (row) => row.gpu_seconds))] as const] : []),
      ['Prompts', count(sumOf(rows, (row) => row.prompts))],
      ['Tokens in', count(sumOf(rows, (row) => row.prompt_tokens))],
      ['Tokens out', count(sumOf(rows, (row) => row.completion_tokens))],
    ]}
  />
)

const hasGpu = (rows: readonly Used[]) => rows.some((row) => row.gpu_seconds > 0)
const costOf = (row: Used) => row.cost_micros ?? 0

const quantities = [
  ['Prompts', (row: Used) => row.prompts, count],
  ['Tokens in', (row: Used) => row.prompt_tokens, count],
  ['Tokens out', (row: Used) => row.completion_tokens, count],
  ['Training', (row: Used) => row.training_seconds, duration],
  ['Model servers', (row: Used) => row.engine_seconds, duration],
] as const
const gpuQuantity = ['GPU time', (row: Used) => row.gpu_seconds, duration] as const

const heads = { day: 'Day', model: 'Model', key: 'Key' } as const satisfies Record<UsageGroup, string>

function UsageTable({ rows, group, currency }: Usage & { group: UsageGroup }) {
  const shownQuantities = [
    ...quantities,
    ...(hasGpu(rows) ? [gpuQuantity] : []),
    ...(currency === undefined ? [] : [['Cost', costOf, (micros: number) => money(micros, currency)] as const]),
  ]
  const groupName = useGroupNames(group)
  const nameOf = (row: Used) => groupName(row).name || 'without a key'
  return (
    <Table
      label={groups[group]}
      isDense
      rows={rows}
      keyOf={(row) => groupName(row).id ?? nameOf(row)}
      columns={[
        {
          name: heads[group],
          isHead: true,
          className: 'text',
          cell: (row) => <span title={groupName(row).id}>{nameOf(row)}</span>,
        },
        ...shownQuantities.map(([name, value, shown]) => ({
          name,
          className: 'number',
          cell: (row: Used) => shown(value(row)),
        })),
      ]}
      foot={
        <tr>
          <th scope="row">Together</th>
          {shownQuantities.map(([name, value, shown]) => (
            <td key={name} className="number" data-name={name}>
              {shown(sumOf(rows, value))}
            </td>
          ))}
        </tr>
      }
    />
  )
}
