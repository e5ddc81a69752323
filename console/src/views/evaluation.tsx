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
import { useMay } from '../api/session.ts'
import { qualityOf, worstFirst } from '../domain/evaluation.ts'
import { count, fixed, short } from '../domain/format.ts'
import { AnswerList } from '../ui/answer-list.tsx'
import { Card } from '../ui/card.tsx'
import { Figures } from '../ui/figures.tsx'
import { Choice } from '../ui/labelled.tsx'
import { usePageTitle } from '../ui/page-title.ts'
import { Link, useQueryOfAddress } from '../ui/router.tsx'
import { ScoreBars } from '../ui/score-bars.tsx'
import { Answer, Empty, Failure } from '../ui/states.tsx'
import { Status, When } from '../ui/text.tsx'
import { toast } from '../ui/toast.tsx'
import { Output } from './job-evaluation.tsx'

export function EvaluationView({ id }: { id: string }) {
  const evaluation = useQuery(modelEvaluationQuery(id))
  const { data } = evaluation
  usePageTitle(data ? `${data.models.map(short).join(', ')} on ${data.dataset_id}` : 'Evaluation')
  return (
    <>
      <p className="crumbs">
        <Link href="/evaluations">Evaluations</Link> / {id.slice(0, 8)}
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
  const isOpen = isOpenEvaluation(evaluation)
  const { id, models, dataset_id: data, rows, message } = evaluation
  const cancel = useMutation({
    mutationFn: () => api.POST('/v1/evaluations/{id}/cancel', { params: { path: { id } } }),
    onSuccess: () => toast('Cancelled the evaluation'),
    onSettled: refreshEvaluations,
  })
  return (
    <>
      <div className="title">
        <h1>{models.map(short).join(', ')}</h1>
        <div className="buttons">
          {mayAsk && (
            <Link className="button" href={`/evaluations?new=1&models=${models.map(encodeURIComponent).join(',')}`}>
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
          ['Status', <Status status={evaluation.status} />],
          ['Data set', <Link href={`/data/${encodeURIComponent(data)}`}>{data}</Link>],
          ['Created', <When at={evaluation.created_at} as="age" />],
        ]}
      />
      {message !== null && <p className="notice failure">{message}</p>}
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
  return (
    <div className="cards-row two">
      {(graders ?? []).map(({ name }) => {
        const scores = models.flatMap((model) => {
          const score = summary?.[model]?.[name]
          return score ? [{ name: short(model), score }] : []
        })
        return (
          <Card key={name} title={name}>
            {scores.length === 0 ? <p className="quiet">No row has a score.</p> : <ScoreBars scores={scores} />}
            {models.slice(1).map((model) => {
              const compared = comparison?.[model]?.[name]
              if (!compared) return null
              const { difference, better, equal, worse } = compared
              return (
                <p key={model} className="quiet small">
                  {short(model)} beside {short(models[0] ?? '')}: {fixed(difference.mean)} ({fixed(difference.low)} to{' '}
                  {fixed(difference.high)}); {better} better, {equal} equal, {worse} worse
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
            textOf={short}
            onChange={(worst) => change({ worst })}
          />
        )}
      </div>
      <Answer query={rows} what="the rows">
        {(all) => (
          <AnswerList rows={worstFirst(all, model)}>
            {(row) => <Row key={row.index} row={row} model={model} />}
          </AnswerList>
        )}
      </Answer>
    </>
  )
}

const rounded = (score: number | null) => (score === null ? '–' : Number(score.toFixed(3)))

function Row({ row: { input, expected, outputs }, model }: { row: EvaluatedRow; model: string }) {
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
            <Output name={short(name)} text={output ?? ''} expected={expected} />
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
