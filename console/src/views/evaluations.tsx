// The evaluations of the account, and the form of a new one.
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api/client.ts'
import { datasetsQuery } from '../api/data.ts'
import { evaluationsQuery, refreshEvaluations, type ModelEvaluation } from '../api/evaluations.ts'
import { modelsQuery } from '../api/models.ts'
import { useNames } from '../api/names.ts'
import { randomId } from '../ui/random-id.ts'
import { useMay } from '../api/session.ts'
import { graders as allGraders, meaningOf, type Grader } from '../domain/evaluation.ts'
import { count, fixed, short } from '../domain/format.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Choice } from '../ui/labelled.tsx'
import { usePageTitle } from '../ui/page-title.ts'
import { Link, useLocation, useQueryOfAddress } from '../ui/router.tsx'
import { Answer, Empty, Failure } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { Status, When } from '../ui/text.tsx'
import { toast } from '../ui/toast.tsx'
import { DatasetLink } from './dataset-link.tsx'

const mostModels = 8

export function EvaluationsView() {
  usePageTitle('Evaluations')
  const evaluations = useQuery(evaluationsQuery)
  const [query, change] = useQueryOfAddress()
  const mayAsk = useMay('inference')
  return (
    <>
      <div className="title">
        <h1>Evaluations</h1>
        {mayAsk && (
          <button type="button" className="primary" onClick={() => change({ new: '1' })}>
            New evaluation
          </button>
        )}
      </div>
      <Answer query={evaluations} what="the evaluations">
        {({ evaluations: all }) =>
          all.length === 0 ? (
            <Empty>
              <h2>No evaluation yet</h2>
              <p>An evaluation lets up to eight models answer the rows of a data set, and scores their answers.</p>
            </Empty>
          ) : (
            <Evaluations all={all} />
          )
        }
      </Answer>
      {mayAsk && query.has('new') && (
        <NewEvaluation
          close={() => change({ new: '' })}
          models={(query.get('models') ?? '').split(',').filter(Boolean)}
        />
      )}
    </>
  )
}

/** The means of the first grader, as the models are named. */
function firstScores({ summary, models }: ModelEvaluation): string {
  const scores = models.map((model) => Object.values(summary?.[model] ?? {})[0]?.mean)
  return scores.map((score) => (score === undefined ? '–' : fixed(score))).join(' · ')
}

function Evaluations({ all }: { all: ModelEvaluation[] }) {
  const { modelName, datasetName } = useNames()
  return (
    <Table
      label="Evaluations"
      rows={all}
      keyOf={({ id }) => id}
      columns={[
        {
          name: 'Models',
          isHead: true,
          className: 'text',
          cell: ({ id, models, message }) => (
            <>
              <Link href={`/evaluations/${id}`} title={models.join(', ')}>
                {models.map(modelName).join(', ')}
              </Link>
              {message !== null && <div className="quiet small">{message}</div>}
            </>
          ),
        },
        {
          name: 'Data set',
          className: 'text',
          cell: ({ dataset_id: id }) => <DatasetLink id={id} name={datasetName(id)} />,
        },
        { name: 'Status', cell: ({ status }) => <Status status={status} /> },
        { name: 'Rows', className: 'number medium', cell: ({ rows }) => (rows === null ? '–' : count(rows)) },
        {
          name: 'First grader',
          className: 'medium',
          cell: ({ graders }) => graders?.[0]?.name ?? '–',
        },
        { name: 'Means', className: 'number', cell: firstScores },
        { name: 'Created', className: 'wide', cell: ({ created_at: at }) => <When at={at} as="age" /> },
      ]}
    />
  )
}

function NewEvaluation({ close, models: given }: { close: () => void; models: string[] }) {
  const offered = (useQuery(modelsQuery).data ?? []).filter(({ task }) => task === 'completion')
  const datasets = useQuery(datasetsQuery).data?.datasets ?? []
  const [models, setModels] = useState(given)
  const [data, setData] = useState('')
  const [graders, setGraders] = useState<readonly Grader[]>([])
  const [rows, setRows] = useState('')
  const [skipsBadRows, setSkipsBadRows] = useState(false)
  const bad = datasets.find((each) => each.dataset_id === data)?.bad_rows ?? 0
  const [key] = useState(randomId)
  const [, navigate] = useLocation()
  const create = useMutation({
    mutationFn: () =>
      api.POST('/v1/evaluations', {
        body: {
          models,
          dataset_id: data,
          ...(graders.length > 0 && { graders: [...graders] }),
          ...(rows !== '' && { max_rows: Number(rows) }),
          ...(bad > 0 && skipsBadRows && { skip_bad_rows: true as const }),
        },
        headers: { 'Idempotency-Key': key },
      }),
    onSuccess: async ({ id }) => {
      await refreshEvaluations()
      navigate(`/evaluations/${id}`)
      toast('Created the evaluation')
    },
  })
  const toggle = <T extends string>(values: readonly T[], value: T) =>
    values.includes(value) ? values.filter((each) => each !== value) : [...values, value]
  return (
    <Dialog title="New evaluation" close={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          create.mutate()
        }}
      >
        <fieldset>
          <legend>Models</legend>
          <p className="quiet small">Up to {mostModels}. The others are compared with the first.</p>
          <div className="options">
            {offered.map(({ id, aliases, display_name: name }) => (
              <label key={id} className="inline">
                <input
                  type="checkbox"
                  checked={models.includes(id)}
                  disabled={!models.includes(id) && models.length >= mostModels}
                  onChange={() => setModels(toggle(models, id))}
                />{' '}
                {name ?? (short(id) === id ? id : (aliases[0] ?? short(id)))}
              </label>
            ))}
          </div>
        </fieldset>
        <div className="filters">
          <Choice
            label="Data set"
            value={data}
            values={['', ...datasets.map(({ dataset_id: id }) => id)]}
            textOf={(id) =>
              datasets.find((each) => each.dataset_id === id)?.file_name ?? (short(id) || 'Choose a data set')
            }
            onChange={setData}
          />
          <label>
            <span className="quiet">Rows at most</span>
            <input
              type="number"
              min={1}
              max={2000}
              placeholder="500"
              value={rows}
              onChange={(event) => setRows(event.target.value)}
            />
          </label>
        </div>
        {bad > 0 && (
          <label className="inline">
            <input type="checkbox" checked={skipsBadRows} onChange={(event) => setSkipsBadRows(event.target.checked)} />
            Leave out the {bad === 1 ? 'bad row' : `${count(bad)} bad rows`} of this data set. Otherwise the evaluation
            fails.
          </label>
        )}
        <details>
          <summary>Graders: {graders.length === 0 ? 'chosen by the data' : graders.join(', ')}</summary>
          <div className="options">
            {allGraders.map((grader) => (
              <label key={grader} className="inline">
                <input
                  type="checkbox"
                  checked={graders.includes(grader)}
                  onChange={() => setGraders(toggle(graders, grader))}
                />{' '}
                <span title={meaningOf(grader) ?? undefined}>{grader}</span>
              </label>
            ))}
          </div>
        </details>
        {create.error && <Failure error={create.error} />}
        <div className="buttons">
          <button type="button" onClick={close}>
            Close
          </button>
          <button type="submit" className="primary" disabled={models.length === 0 || data === '' || create.isPending}>
            Create evaluation
          </button>
        </div>
      </form>
    </Dialog>
  )
}
