// The evaluations of the account.
import { useQuery } from '@tanstack/react-query'
import { evaluationsQuery, type ModelEvaluation } from '../api/evaluations.ts'
import { useNames } from '../api/names.ts'
import { useMay } from '../api/session.ts'
import { count, fixed } from '../domain/format.ts'
import { usePageTitle } from '../ui/page-title.ts'
import { Link, useQueryOfAddress } from '../ui/router.tsx'
import { Answer, Empty } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { Status, When } from '../ui/text.tsx'
import { DatasetLink } from './dataset-link.tsx'
import { NewEvaluation } from './new-evaluation.tsx'

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
        <NewEvaluation from={query.get('from')} close={() => change({ new: '', from: '' })} />
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
