// Two to eight jobs: their curves over each other, what differs, and their answers row by row.
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { evaluationQuery, jobQuery, metricsQuery } from '../api/jobs.ts'
import { queryClient } from '../api/query-client.ts'
import type { Evaluation, Job } from '../api/job.ts'
import { aligned, answersByInput, differingFacts } from '../domain/compare.ts'
import { bestStep, smooth, type Metric } from '../domain/curve.ts'
import { fixed, loss } from '../domain/format.ts'
import { isOpen, nameOf } from '../domain/job-list.ts'
import { Chart } from '../ui/chart.tsx'
import { usePageTitle } from '../ui/page-title.ts'
import { Link, useQueryOfAddress, useSearch } from '../ui/router.tsx'
import { Smoothing } from '../ui/smoothing.tsx'
import { Answer, Empty } from '../ui/states.tsx'
import { Status } from '../ui/text.tsx'
import { Output } from './job-evaluation.tsx'

const most = 8
const rowsAtOnce = 20

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

function Comparison({ all }: { all: Awaited<ReturnType<typeof readCompared>>[] }) {
  const [query, change] = useQueryOfAddress()
  const weight = Number(query.get('smooth'))
  const jobs = all.map(({ job }) => job)
  const metrics = all.map((each) => each.metrics)
  return (
    <>
      <Facts jobs={jobs} metrics={metrics} summaries={all.map(({ summary }) => summary)} />
      <label className="inline">
        Smooth <Smoothing weight={weight} onChange={(smooth) => change({ smooth })} />
      </label>
      <Curves jobs={jobs} metrics={metrics} weight={weight} />
      <Answers jobs={jobs} rows={answersByInput(all.map(({ rows }) => rows))} />
    </>
  )
}

type Summary = NonNullable<Evaluation['summary']>

const scoreOf = (score: Summary[string] | undefined) =>
  score ? `${fixed(score.tuned.mean)} (${fixed(score.tuned.low)} to ${fixed(score.tuned.high)})` : '–'

const title = (job: Job) => `${job.job_id} ${nameOf(job)}`

type FactsProps = { jobs: Job[]; metrics: Metric[][]; summaries: Summary[] }

function Facts({ jobs, metrics, summaries }: FactsProps) {
  const graders = [...new Set(summaries.flatMap(Object.keys))]
  const rows: [string, string[]][] = [
    ['last loss', metrics.map((each) => loss(each.at(-1)?.loss))],
    ['best held-out loss', metrics.map((each) => loss(bestStep(each)?.value))],
    ...graders.map((name): [string, string[]] => [name, summaries.map((summary) => scoreOf(summary[name]))]),
    ...differingFacts(jobs),
  ]
  return (
    <div className="scroll" role="region" aria-label="What differs" tabIndex={0}>
      <table className="list">
        <thead>
          <tr>
            <th scope="col">What differs</th>
            {jobs.map((job) => (
              <th key={job.job_id} scope="col">
                <Link href={`/jobs/${job.job_id}`}>{title(job)}</Link> <Status status={job.status} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, values]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {values.map((value, index) => (
                <td key={index} className="text">
                  {value}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Curves({ jobs, metrics, weight }: { jobs: Job[]; metrics: Metric[][]; weight: number }) {
  const curves = metrics.map((each) => each.map(({ step, loss: y }) => ({ x: step, y })))
  const { x, values } = aligned(curves)
  if (x.length === 0) return <Empty>None of these jobs has reported a step.</Empty>
  const lines = jobs.map((job, look) => ({
    name: title(job),
    look,
    width: 2,
    values: smooth(values[look] ?? [], weight),
  }))
  return (
    <Chart
      x={x}
      xName="step"
      lines={lines}
      isLog={false}
      label={`Training losses of jobs ${jobs.map(title).join(', ')}`}
    />
  )
}

function Answers({ jobs, rows }: { jobs: Job[]; rows: ReturnType<typeof answersByInput> }) {
  const [shown, setShown] = useState(rowsAtOnce)
  if (rows.length === 0) return <Empty>None of these jobs has answered evaluation rows yet.</Empty>
  return (
    <>
      <h2>Answers of the tuned models</h2>
      <ol className="answers">
        {rows.slice(0, shown).map(({ input, expected, answers }) => (
          <li key={input} className={answers.every((each) => each?.trim() === expected.trim()) ? 'right' : 'wrong'}>
            <p className="text">
              <span className="quiet">Input</span> {input}
            </p>
            <p className="text">
              <span className="quiet">Expected</span> {expected}
            </p>
            <div className="columns">
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
        ))}
      </ol>
      {shown < rows.length && (
        <button type="button" onClick={() => setShown(shown + rowsAtOnce)}>
          Show more
        </button>
      )}
    </>
  )
}
