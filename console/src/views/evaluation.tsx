// One evaluation: the scores of its models with their intervals, and the rows that were answered worst.
import { useMutation, useQuery } from '@tanstack/react-query'
import { api } from '../api/client.ts'
import {
  evaluationRowsQuery,
  isOpenEvaluation,
  modelEvaluationQuery,
  refreshEvaluations,
  type EvaluatedRow,
  type ModelEvaluation,
} from '../api/evaluations.ts'
import { useNames } from '../api/names.ts'
import { useMay } from '../api/session.ts'
import { qualityOf, worstFirst } from '../domain/evaluation.ts'
import { count, fixed } from '../domain/format.ts'
import { AnswerList } from '../ui/answer-list.tsx'
import { Card } from '../ui/card.tsx'
import { Figures } from '../ui/figures.tsx'
import { GraderMeaning } from '../ui/grader-meaning.tsx'
import { Choice } from '../ui/labelled.tsx'
import { usePageTitle } from '../ui/page-title.ts'
import { Link, useQueryOfAddress } from '../ui/router.tsx'
import { ScoreBars } from '../ui/score-bars.tsx'
import { Answer, Empty, Failure } from '../ui/states.tsx'
import { Status, When } from '../ui/text.tsx'
import { toast } from '../ui/toast.tsx'
import { Warnings } from '../ui/warnings.tsx'
import { DatasetLink } from './dataset-link.tsx'
import { Output } from './job-evaluation.tsx'

export function EvaluationView({ id }: { id: string }) {
  const evaluation = useQuery(modelEvaluationQuery(id))
  const { data } = evaluation
  const { modelName, datasetName } = useNames()
  const title = data ? `${data.models.map(modelName).join(', ')} on ${datasetName(data.dataset_id)}` : 'Evaluation'
  usePageTitle(title)
  return (
    <>
      <p className="crumbs">
        <Link href="/evaluations">Evaluations</Link> / {title}
      </p>
      {!data && <h1>Evaluation</h1>}
      <Answer query={evaluation} what="the evaluation">
        {(known) => <EvaluationPage evaluation={known} />}
      </Answer>
    </>
  )
}

function EvaluationPage({ evaluation }: { evaluation: ModelEvaluation }) {
  const mayAsk = useMay('inference')
  const { modelName, datasetName } = useNames()
  const isOpen = isOpenEvaluation(evaluation)
  const { id, models, dataset_id: data, rows, skipped_rows: skipped, message, warnings = [] } = evaluation
  const cancel = useMutation({
    mutationFn: () => api.POST('/v1/evaluations/{id}/cancel', { params: { path: { id } } }),
    onSuccess: () => toast('Cancelled the evaluation'),
    onSettled: refreshEvaluations,
  })
  return (
    <>
      <div className="title">
        <h1 title={models.join(', ')}>{models.map(modelName).join(', ')}</h1>
        <div className="buttons">
          {mayAsk && (
            <Link className="button" href={`/evaluations?new=1&from=${id}`}>
              Duplicate
            </Link>
          )}
          {mayAsk && isOpen && (
            <button type="button" className="danger" disabled={cancel.isPending} onClick={() => cancel.mutate()}>
              Cancel
            </button>
          )}
        </div>
      </div>
      {cancel.error && <Failure error={cancel.error} />}
      <Figures
        figures={[
          ['Rows', rows === null ? '–' : count(rows)],
          ...(skipped ? [['Left out', count(skipped)] as const] : []),
          ['Status', <Status status={evaluation.status} />],
          ['Data set', <DatasetLink id={data} name={datasetName(data)} />],
          ['Created', <When at={evaluation.created_at} as="age" />],
        ]}
      />
      {message !== null && <p className={isOpen ? 'notice' : 'notice failure'}>{message}</p>}
      <Warnings warnings={warnings} />
      {evaluation.summary ? (
        <Summary evaluation={evaluation} />
      ) : (
        isOpen && (
          <Empty>
            <p>The scores appear here when every model has answered the rows. You can leave this page meanwhile.</p>
          </Empty>
        )
      )}
      {evaluation.summary && <Rows evaluation={evaluation} />}
    </>
  )
}

/** For each grader a bar of every model, and how the others compare with the first. */
function Summary({ evaluation: { models, graders, summary, comparison } }: { evaluation: ModelEvaluation }) {
  const { modelName } = useNames()
  return (
    <div className="cards-row two">
      {(graders ?? []).map(({ name }) => {
        const scores = models.flatMap((model) => {
          const score = summary?.[model]?.[name]
          return score ? [{ name: modelName(model), score }] : []
        })
        return (
          <Card key={name} title={name}>
            <GraderMeaning grader={name} />
            {scores.length === 0 ? <p className="quiet">No row has a score.</p> : <ScoreBars scores={scores} />}
            {models.slice(1).map((model) => {
              const compared = comparison?.[model]?.[name]
              if (!compared) return null
              const { difference, better, equal, worse } = compared
              return (
                <p key={model} className="quiet small">
                  {modelName(model)} beside {modelName(models[0] ?? '')}: {fixed(difference.mean)} (
                  {fixed(difference.low)} to {fixed(difference.high)}); {better} better, {equal} equal, {worse} worse
                </p>
              )
            })}
          </Card>
        )
      })}
    </div>
  )
}

function Rows({ evaluation }: { evaluation: ModelEvaluation }) {
  const { id, models } = evaluation
  const rows = useQuery(evaluationRowsQuery(id, isOpenEvaluation(evaluation)))
  const { modelName } = useNames()
  const [query, change] = useQueryOfAddress()
  const model = models.find((each) => each === query.get('worst')) ?? models.at(-1) ?? ''
  return (
    <>
      <div className="filters">
        <h2>Rows</h2>
        {models.length > 1 && (
          <Choice
            label="Worst first, by"
            value={model}
            values={models}
            textOf={modelName}
            onChange={(worst) => change({ worst })}
          />
        )}
      </div>
      <Answer query={rows} what="the rows">
        {(all) => (
          <AnswerList rows={worstFirst(all, model)}>
            {(row) => <Row key={row.index} row={row} model={model} modelName={modelName} />}
          </AnswerList>
        )}
      </Answer>
    </>
  )
}

const rounded = (score: number | null) => (score === null ? '–' : Number(score.toFixed(3)))

type RowProps = { row: EvaluatedRow; model: string; modelName: (model: string) => string }

function Row({ row: { input, expected, outputs }, model, modelName }: RowProps) {
  const isRight = (qualityOf(outputs.find((output) => output.model === model)) ?? 0) >= 1
  return (
    <li className={isRight ? 'right' : 'wrong'}>
      <p className="text">
        <span className="quiet">Input</span> {input}
      </p>
      <p className="text">
        <span className="quiet">Expected</span> {expected}
      </p>
      <div className="columns">
        {outputs.map(({ model: name, output, error, scores }) => (
          <div key={name}>
            <Output name={modelName(name)} text={output ?? ''} expected={expected} />
            {error !== null && <p className="failure">{error}</p>}
            <p className="quiet small">
              {Object.entries(scores ?? {})
                .map(([grader, score]) => `${grader} ${rounded(score)}`)
                .join(' · ')}
            </p>
          </div>
        ))}
      </div>
    </li>
  )
}
