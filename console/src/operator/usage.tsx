// What all accounts have used, and the same as a file.
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { count, duration, money, short } from '../domain/format.ts'
import { Choice } from '../ui/labelled.tsx'
import { save } from '../ui/save.ts'
import { Answer, Failure } from '../ui/states.tsx'
import { readUsage, readUsageFile, type AccountUsage } from './overview.ts'
import { Table } from './table.tsx'

const groups = { account: 'By account', model: 'By model', day: 'By day' } as const
type Group = keyof typeof groups
const spans = ['1', '7', '30', '90'] as const
const everyMs = 60_000

export function Usage({ token }: { token: string }) {
  const [group, setGroup] = useState<Group>('account')
  const [span, setSpan] = useState<(typeof spans)[number]>('30')
  const [failure, setFailure] = useState<unknown>(null)
  const from = new Date(Date.now() - (Number(span) - 1) * 86_400_000).toISOString().slice(0, 10)
  const usage = useQuery({
    queryKey: ['usage', token, from, group],
    refetchInterval: everyMs,
    queryFn: ({ signal }) => readUsage(token, { from, group }, signal),
  })
  const download = async () => {
    setFailure(null)
    await readUsageFile(token, from).then((file) => save(`usage-from-${from}.csv`, file), setFailure)
  }
  return (
    <>
      <div className="filters">
        <Choice
          label="Show"
          value={group}
          values={Object.keys(groups) as Group[]}
          textOf={(name) => groups[name]}
          onChange={setGroup}
        />
        <Choice label="Last days (UTC)" value={span} values={spans} onChange={setSpan} />
        <button type="button" onClick={() => void download()}>
          Download CSV
        </button>
      </div>
      <p className="quiet small">An attempt counts when it has ended. “Find a job” has the cost of one job so far.</p>
      {failure !== null && <Failure error={failure} />}
      <Answer query={usage} what="the usage">
        {({ usage: rows, currency }) => (
          <Table
            head={[
              '',
              'Prompts',
              'Tokens in',
              'Tokens out',
              'Training',
              'Model servers',
              'GPU time',
              ...(currency === undefined ? [] : ['Cost']),
            ]}
            empty="Nothing was used in these days."
            rows={rows.map((row) => [
              <Name row={row} group={group} />,
              count(row.prompts),
              count(row.prompt_tokens),
              count(row.completion_tokens),
              duration(row.training_seconds),
              duration(row.engine_seconds),
              duration(row.gpu_seconds),
              ...(currency === undefined ? [] : [money(row.cost_micros ?? 0, currency)]),
            ])}
          />
        )}
      </Answer>
    </>
  )
}

function Name({ row, group }: { row: AccountUsage; group: Group }) {
  switch (group) {
    case 'account':
      return <span title={row.account_id}>{row.account_name}</span>
    case 'model':
      return <span title={row.model_name}>{row.display_name ?? short(row.model_name ?? '')}</span>
    case 'day':
      return row.day
  }
}
