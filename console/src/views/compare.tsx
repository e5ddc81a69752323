// Two to eight jobs: their curves over each other, what differs, and their answers row by row.
import { useQuery } from '@tanstack/react-query'
import { evaluationQuery, jobQuery, metricsQuery } from '../api/jobs.ts'
import { queryClient } from '../api/query-client.ts'
import type { Evaluation, Job } from '../api/job.ts'
import { aligned, answersByInput, bestOf, differingFacts } from '../domain/compare.ts'
import { axes, bestStep, smooth, valuesOn, type Axis, type Metric } from '../domain/curve.ts'
import { count, fixed, loss } from '../domain/format.ts'
import { isOpen, numberedName as title } from '../domain/job-list.ts'
import { AnswerList } from '../ui/answer-list.tsx'
import { Chart } from '../ui/chart.tsx'
import { Choice, Labelled } from '../ui/labelled.tsx'
import { usePageTitle } from '../ui/page-title.ts'
import { Link, useQueryOfAddress, useSearch } from '../ui/router.tsx'
import { Smoothing } from '../ui/smoothing.tsx'
import { Answer, Empty } from '../ui/states.tsx'
import { Status } from '../ui/text.tsx'
import { Output } from './job-evaluation.tsx'

const most = 8

export function CompareView() {
  usePageTitle('Compare')
  const ids = (new URLSearchParams(useSearch()).get('jobs') ?? '').split(',').map(Number)
  const chosen = [...new Set(ids)].filter((id) => id > 0).slice(0, most)
  const compared = useQuery({
    queryKey: ['compare', chosen],
    enabled: chosen.length >= 2,
    refetchInterval: ({ state }) => (state.data?.some(({ job }) => isOpen(job.status)) ? 5000 : false),
    queryFn: () => Promise.all(chosen.map(readCompared)),
  })
  return (
    <>
      <p className="crumbs">
        <Link href="/jobs">Jobs</Link> / compare
      </p>
      <h1>Compare</h1>
      {chosen.length < 2 ? (
        <Empty>Select two to eight jobs in the list of jobs, then “Compare”.</Empty>
      ) : (
        <Answer query={compared} what="the jobs">
          {(all) => <Comparison all={all} />}
        </Answer>
      )}
    </>
  )
}

async function readCompared(id: number) {
  const [job, metrics, evaluation] = await Promise.all([
    queryClient.fetchQuery(jobQuery(id)),
    queryClient.fetchQuery(metricsQuery(id)),
    queryClient.fetchQuery(evaluationQuery(id)),
  ])
  return { job, metrics, rows: evaluation?.eval_results ?? [], summary: evaluation?.summary ?? {} }
}

type Compared = Awaited<ReturnType<typeof readCompared>>

function Comparison({ all }: { all: Compared[] }) {
  const jobs = all.map(({ job }) => job)
  return (
    <>
      <Facts all={all} />
      <Curves jobs={jobs} metrics={all.map((each) => each.metrics)} />
      <Answers jobs={jobs} rows={answersByInput(all.map(({ rows }) => rows))} />
    </>
  )
}

type Summary = NonNullable<Evaluation['summary']>
type FactRow = { name: string; values: string[]; best: boolean[] }

const scoreOf = (score: Summary[string] | undefined) =>
  score ? `${fixed(score.tuned.mean)} (${fixed(score.tuned.low)} to ${fixed(score.tuned.high)})` : '–'

/** The numbers that tell which job is best come first, then what was done differently. */
function factsOf(all: readonly Compared[]): FactRow[] {
  const lowest = (name: string, values: (number | null)[]): FactRow => ({
    name,
    values: values.map(loss),
    best: bestOf(values, true),
  })
  const graders = [...new Set(all.flatMap(({ summary }) => Object.keys(summary)))]
  const numbers = [
    ...graders.map((name) => ({
      name,
      values: all.map(({ summary }) => scoreOf(summary[name])),
      best: bestOf(
        all.map(({ summary }) => summary[name]?.tuned.mean ?? null),
        false,
      ),
    })),
    lowest(
      'best held-out loss',
      all.map(({ metrics }) => bestStep(metrics)?.value ?? null),
    ),
    lowest(
      'last loss',
      all.map(({ metrics }) => metrics.at(-1)?.loss ?? null),
    ),
  ]
  return [
    // A number that no job has tells nothing.
    ...numbers.filter(({ values }) => values.some((value) => value !== '–')),
    ...differingFacts(all.map(({ job }) => job)).map(([name, values]) => ({ name, values, best: [] })),
  ]
}

function Facts({ all }: { all: Compared[] }) {
  return (
    <div className="scroll sticky" role="region" aria-label="What differs" tabIndex={0}>
      <table className="list dense">
        <thead>
          <tr>
            <th scope="col">What differs</th>
            {all.map(({ job }) => (
              <th key={job.job_id} scope="col">
                <Link href={`/jobs/${job.job_id}`}>{title(job)}</Link> <Status status={job.status} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {factsOf(all).map(({ name, values, best }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {values.map((value, index) => (
                <td key={index} className="text">
                  {best[index] ? <strong>{value}</strong> : value}
                  {best[index] && <span className="hidden"> (best)</span>}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

const nameOfAxis = (axis: Axis) => (axis === 'time' ? 'seconds of training' : axis)

function Curves({ jobs, metrics }: { jobs: Job[]; metrics: Metric[][] }) {
  const [query, change] = useQueryOfAddress()
  const weight = Number(query.get('smooth'))
  const axis = axes.find((each) => each === query.get('over')) ?? 'step'
  const curves = metrics.map((each) => {
    const places = valuesOn(axis, each)
    return each.map(({ loss: y }, index) => ({ x: places[index] ?? 0, y }))
  })
  const { x, values } = aligned(curves)
  if (x.length === 0) return <Empty>None of these jobs has reported a step.</Empty>
  const lines = jobs.map((job, look) => ({
    name: title(job),
    look,
    width: 2,
    values: smooth(values[look] ?? [], weight),
  }))
  return (
    <>
      <div className="filters">
        <Choice
          label="Over"
          value={axis}
          values={axes}
          textOf={nameOfAxis}
          onChange={(over) => change({ over: over === 'step' ? '' : over, zoom: '' })}
        />
        <Labelled name="Smooth">
          <Smoothing weight={weight} onChange={(smooth) => change({ smooth })} />
        </Labelled>
      </div>
      <Chart
        x={x}
        xName={nameOfAxis(axis)}
        lines={lines}
        isLog={false}
        label={`Training losses of jobs ${jobs.map(title).join(', ')}`}
      />
    </>
  )
}

type Rows = ReturnType<typeof answersByInput>

/** Only rows that every job has answered compare the jobs; the others stand behind a fold. */
function Answers({ jobs, rows }: { jobs: Job[]; rows: Rows }) {
  if (rows.length === 0) return <Empty>None of these jobs has answered evaluation rows yet.</Empty>
  const isWhole = ({ answers }: Rows[number]) => answers.every((answer) => answer !== null)
  const others = rows.filter((row) => !isWhole(row))
  return (
    <section aria-label="Answers" className="compared">
      <h2>Answers of the tuned models</h2>
      {others.length === rows.length ? (
        <p className="quiet">No row was answered by all of these jobs: they were evaluated on different rows.</p>
      ) : (
        <AnswerRows jobs={jobs} rows={rows.filter(isWhole)} />
      )}
      {others.length > 0 && (
        <details>
          <summary>
            {count(others.length)} {others.length === 1 ? 'row' : 'rows'} that not every job has answered
          </summary>
          <AnswerRows jobs={jobs} rows={others} />
        </details>
      )}
    </section>
  )
}

function AnswerRows({ jobs, rows }: { jobs: Job[]; rows: Rows }) {
  return (
    <>
      <div className="model-columns heads" aria-hidden="true">
        {jobs.map((job) => (
          <p key={job.job_id} className="caption">
            {title(job)}
          </p>
        ))}
      </div>
      <AnswerList rows={rows}>
        {({ input, expected, answers }) => (
          <li key={input} className={answers.every((each) => each?.trim() === expected.trim()) ? 'right' : 'wrong'}>
            <p className="text">
              <span className="quiet">Input</span> {input}
            </p>
            <p className="text">
              <span className="quiet">Expected</span> {expected}
            </p>
            <div className="model-columns">
              {answers.map((answer, index) => (
                <Output
                  key={index}
                  name={jobs[index] ? title(jobs[index]) : ''}
                  text={answer ?? '–'}
                  expected={expected}
                />
              ))}
            </div>
          </li>
        )}
      </AnswerList>
    </>
  )
}
