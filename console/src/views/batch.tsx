// One batch: how far it is, what was refused, and its results.
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { batchErrorsQuery, batchQuery, refreshBatches, type Batch } from '../api/batches.ts'
import { api, send } from '../api/client.ts'
import { useMay } from '../api/session.ts'
import { batchName, isOpenBatch, mostErrors } from '../domain/batch.ts'
import { count, duration, parseTime, percent } from '../domain/format.ts'
import { Confirm } from '../ui/confirm.tsx'
import { Facts } from '../ui/facts.tsx'
import { Figures } from '../ui/figures.tsx'
import { usePageTitle } from '../ui/page-title.ts'
import { Link } from '../ui/router.tsx'
import { save } from '../ui/save.ts'
import { Answer, Failure } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { Status, useNow, When } from '../ui/text.tsx'

export function BatchView({ id }: { id: string }) {
  const batch = useQuery(batchQuery(id))
  const { data } = batch
  const title = data ? batchName(data) : 'Batch'
  usePageTitle(title, data && isOpenBatch(data) ? shareOf(data) : null)
  return (
    <>
      <p className="crumbs">
        <Link href="/batches">Batches</Link> / {title}
      </p>
      {!data && <h1>Batch</h1>}
      <Answer query={batch} what="the batch">
        {(known) => <BatchPage batch={known} />}
      </Answer>
    </>
  )
}

const shareOf = ({ item_counts: { completed, failed, total } }: Batch) => (completed + failed) / Math.max(1, total)

function BatchPage({ batch }: { batch: Batch }) {
  const { status, status_message: message, item_counts: counts, links, kind } = batch
  const isOpen = isOpenBatch(batch)
  const result = useResult(batch)
  const errors = links.errors ?? (counts.failed > 0 && kind !== 'requests' ? result : null)
  return (
    <>
      <div className="title">
        <div className="heading">
          <h1>{batchName(batch)}</h1>
          <Status status={status} />
        </div>
        <Actions batch={batch} />
      </div>
      {message !== null && <p className={isOpen ? 'notice' : 'notice failure'}>{message}</p>}
      <Figures
        figures={[
          [
            'Done',
            <>
              {count(counts.completed)} <span className="quiet">of {count(counts.total)}</span>
              {isOpen && <progress aria-label={percent(shareOf(batch))} max={1} value={shareOf(batch)} />}
            </>,
          ],
          ['Failed', count(counts.failed)],
          [batch.started_at === null ? 'Waiting for' : 'Elapsed', <Elapsed batch={batch} />],
        ]}
      />
      <Facts
        facts={[
          ['Model', batch.display_name ?? (batch.model_name === null ? 'each request names its own' : 'deleted')],
          ['Made by', <span title={batch.key_id}>{batch.key_name ?? 'a key that was deleted'}</span>],
          ['Created', <When at={batch.created_at} />],
          ...(batch.finished_at === null ? [] : [['Ended', <When at={batch.finished_at} />] as const]),
          ['Id', <code>{batch.id}</code>],
        ]}
      />
      {errors !== null && !isOpen && <Errors key={errors} batch={batch} path={errors} />}
    </>
  )
}

/** From the first chunk, or from the acceptance while the batch waits. */
function Elapsed({ batch }: { batch: Batch }) {
  const now = useNow(1000, isOpenBatch(batch))
  const from = parseTime(batch.started_at ?? batch.created_at)
  const to = batch.finished_at === null ? now : parseTime(batch.finished_at)
  return <>{duration(Math.max(0, (to.getTime() - from.getTime()) / 1000))}</>
}

/** The address of the results for a session that may read them. Answers to prompts need the scope of asking; files do not. */
function useResult({ kind, links }: Batch): string | null {
  const mayAsk = useMay('inference')
  return mayAsk || kind === 'requests' ? links.result : null
}

function Actions({ batch }: { batch: Batch }) {
  const { id, kind, links } = batch
  const mayAsk = useMay('inference')
  const result = useResult(batch)
  const [isAsking, setAsking] = useState(false)
  const file = `batch-${id.replace('batch_', '')}`
  return (
    <div className="buttons">
      {result !== null && (
        <Download
          path={result}
          name={`${file}.${kind === 'requests' ? 'jsonl' : 'json'}`}
          text={isOpenBatch(batch) ? 'Download the results so far' : 'Download the results'}
        />
      )}
      {links.errors !== null && (
        <Download path={links.errors} name={`${file}-errors.jsonl`} text="Download the errors" />
      )}
      {mayAsk && isOpenBatch(batch) && batch.status_reason !== 'cancelling' && (
        <button type="button" className="danger" onClick={() => setAsking(true)}>
          Cancel
        </button>
      )}
      {isAsking && (
        <Confirm
          title="Cancel this batch?"
          action="Cancel the batch"
          isDangerous
          act={async () => {
            await api.POST('/v1/batches/{id}/cancel', { params: { path: { id } } })
            await refreshBatches()
          }}
          done="Cancelled the batch"
          close={() => setAsking(false)}
        >
          <p>
            {kind === 'requests'
              ? 'The requests that were answered keep their answers; no other one is begun.'
              : 'The batch ends at once, and its answers are removed.'}
          </p>
        </Confirm>
      )}
    </div>
  )
}

function Download({ path, name, text }: { path: string; name: string; text: string }) {
  const read = useMutation({ mutationFn: async () => save(name, await (await send(path)).blob()) })
  return (
    <>
      <button type="button" disabled={read.isPending} onClick={() => read.mutate()}>
        {text}
      </button>
      {read.error && <Failure error={read.error} />}
    </>
  )
}

/** Read on demand: the result of a large batch has megabytes. */
function Errors({ batch: { id, kind, item_counts: counts }, path }: { batch: Batch; path: string }) {
  const [isShown, setShown] = useState(false)
  const errors = useQuery({ ...batchErrorsQuery(id, kind, path), enabled: isShown })
  return (
    <>
      <h2>Errors</h2>
      {isShown ? (
        <Answer query={errors} what="the errors">
          {(all) => (
            <>
              {all.length === mostErrors && <p className="quiet">The first {count(mostErrors)}.</p>}
              <Table
                label="Errors"
                isDense
                rows={all.map((each, index) => ({ ...each, index }))}
                keyOf={({ index }) => index}
                columns={[
                  { name: kind === 'requests' ? 'Request' : 'Item', isHead: true, cell: ({ place }) => place },
                  { name: 'Reason', className: 'text', cell: ({ message }) => message },
                ]}
              />
            </>
          )}
        </Answer>
      ) : (
        <button type="button" onClick={() => setShown(true)}>
          Show the errors{counts.failed > 0 && ` (${count(counts.failed)})`}
        </button>
      )}
    </>
  )
}
