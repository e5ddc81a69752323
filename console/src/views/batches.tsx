// The batches of the account, whichever API made them.
import { useInfiniteQuery } from '@tanstack/react-query'
import { batchesQuery, type Batch } from '../api/batches.ts'
import { batchGroups, batchName } from '../domain/batch.ts'
import { count } from '../domain/format.ts'
import { usePageTitle } from '../ui/page-title.ts'
import { Link, useQueryOfAddress } from '../ui/router.tsx'
import { Answer, Empty } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { Tabs } from '../ui/tabs.tsx'
import { Status, When } from '../ui/text.tsx'

export function BatchesView() {
  usePageTitle('Batches')
  const [query, change] = useQueryOfAddress()
  const group = batchGroups.find((each) => each === query.get('show')) ?? 'all'
  const batches = useInfiniteQuery(batchesQuery(group))
  return (
    <>
      <h1>Batches</h1>
      <Tabs
        label="Show"
        value={group}
        values={batchGroups}
        onChange={(show) => change({ show: show === 'all' ? '' : show })}
      />
      <Answer query={batches} what="the batches">
        {({ pages }) => {
          const all = pages.flatMap((page) => page.batches)
          if (all.length === 0 && !batches.hasNextPage) return <NoBatch isFiltered={group !== 'all'} />
          return <Batches all={all} />
        }}
      </Answer>
      {batches.hasNextPage && (
        <button type="button" disabled={batches.isFetchingNextPage} onClick={() => void batches.fetchNextPage()}>
          Show older batches
        </button>
      )}
    </>
  )
}

const NoBatch = ({ isFiltered }: { isFiltered: boolean }) => (
  <Empty>
    <h2>{isFiltered ? 'No such batch' : 'No batch yet'}</h2>
    {!isFiltered && (
      <p>
        A program sends many prompts at once to <code>/v1/batch_completions</code> or <code>/v1/batch_embeddings</code>,
        or a file of requests to <code>/openai/v1/batches</code>. The batch appears here, and stays for 7 days after its
        end.
      </p>
    )}
  </Empty>
)

const Batches = ({ all }: { all: Batch[] }) => (
  <Table
    label="Batches"
    rows={all}
    keyOf={({ id }) => id}
    columns={[
      {
        name: 'Batch',
        isHead: true,
        className: 'text',
        cell: (batch) => (
          <>
            <Link href={`/batches/${batch.id}`} title={batch.id}>
              {batchName(batch)}
            </Link>
            {batch.status_message !== null && <div className="quiet small">{batch.status_message}</div>}
          </>
        ),
      },
      { name: 'Status', cell: ({ status }) => <Status status={status} /> },
      {
        name: 'Model',
        className: 'text',
        cell: ({ model_name: id, display_name: name }) => (
          <span title={id ?? undefined}>{name ?? (id === null ? 'each its own' : 'deleted')}</span>
        ),
      },
      {
        name: 'Done',
        className: 'number',
        cell: ({ item_counts: { completed, total } }) => `${count(completed)} of ${count(total)}`,
      },
      { name: 'Failed', className: 'number', cell: ({ item_counts: { failed } }) => count(failed) },
      {
        name: 'Key',
        className: 'medium',
        cell: ({ key_id: id, key_name: name }) => <span title={id}>{name ?? 'deleted'}</span>,
      },
      { name: 'Created', className: 'medium', cell: ({ created_at: at }) => <When at={at} as="age" /> },
    ]}
  />
)
