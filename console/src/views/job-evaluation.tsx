// The answers of the tuned model beside those of its base, to the rows that were set aside. The worst answers come first.
import { useQuery } from '@tanstack/react-query'
import type { EvaluatedRow, Evaluation, Job } from '../api/job.ts'
import { evaluationQuery } from '../api/jobs.ts'
import { fixed } from '../domain/format.ts'
import { isOpen } from '../domain/job-list.ts'
import { difference } from '../domain/text-diff.ts'
import { AnswerList } from '../ui/answer-list.tsx'
import { Card } from '../ui/card.tsx'
import { GraderMeaning } from '../ui/grader-meaning.tsx'
import { TunedAndBase } from '../ui/score-bars.tsx'
import { Answer, Empty } from '../ui/states.tsx'

export function JobEvaluation({ job }: { job: Job }) {
  const isReady = job.model_name !== null && !isOpen(job.status)
  const evaluation = useQuery({ ...evaluationQuery(job.job_id), enabled: isReady })
  if (isOpen(job.status))
    return <Empty>The tuned model and its base answer the evaluation rows once the model is saved.</Empty>
  if (job.model_name === null) return <Empty>The job has ended without a model, so there are no answers.</Empty>
  return (
    <Answer query={evaluation} what="the answers">
      {(known) =>
        known ? (
          <>
            <Scores summary={known.summary} />
            <Rows rows={known.eval_results} />
          </>
        ) : (
          <Empty>This job has no evaluation.</Empty>
        )
      }
    </Answer>
  )
}

/** Means over the rows, with the interval in which the difference lies. */
function Scores({ summary }: { summary: Evaluation['summary'] }) {
  const graders = Object.entries(summary ?? {}).flatMap(([name, each]) => (each ? [{ name, ...each }] : []))
  if (graders.length === 0) return null
  return (
    <div className="cards-row two">
      {graders.map(({ name, tuned, base, difference: { mean, low, high } }) => (
        <Card key={name} title={name}>
          <GraderMeaning grader={name} />
          <TunedAndBase tuned={tuned} base={base} />
          <p className="quiet small">
            Difference {fixed(mean)} ({fixed(low)} to {fixed(high)})
          </p>
        </Card>
      ))}
    </div>
  )
}

const rounded = (score?: number | null) => (score == null ? '–' : Number(score.toFixed(3)))

/** The mean of the scores, or whether the answer is the expected one. */
function qualityOf(row: EvaluatedRow): number {
  const scores = Object.values(row.outputs[0]?.scores ?? {}).filter((score) => score !== null)
  return scores.length === 0 ? Number(isRight(row)) : scores.reduce((sum, score) => sum + score, 0) / scores.length
}

const isRight = ({ outputs, expected }: EvaluatedRow) => (outputs[0]?.output ?? '').trim() === expected.trim()

function Rows({ rows }: { rows: EvaluatedRow[] }) {
  const inOrder = rows.toSorted((a, b) => qualityOf(a) - qualityOf(b))
  const [right, rightOfBase] = [
    rows.filter(isRight).length,
    rows.filter(({ outputs, expected }) => (outputs[1]?.output ?? '').trim() === expected.trim()).length,
  ]
  const split = rows.some((row) => row.split === 'train') ? 'rows that were trained on' : 'held-out rows'
  if (rows.length === 0) return <Empty>There were no rows to evaluate.</Empty>
  return (
    <>
      <p>
        {rows.length} {split}. Exactly as expected: <strong>{right}</strong> of the tuned model, {rightOfBase} of the
        base.
      </p>
      <AnswerList rows={inOrder}>{(row, index) => <Row key={index} row={row} />}</AnswerList>
    </>
  )
}

function Row({ row }: { row: EvaluatedRow }) {
  const [tuned, base] = row.outputs
  return (
    <li className={isRight(row) ? 'right' : 'wrong'}>
      <p className="text">
        <span className="quiet">Input</span> {row.input}
      </p>
      <div className="columns">
        <Output
          name={isRight(row) ? 'Tuned, as expected' : 'Tuned'}
          text={tuned?.output ?? ''}
          expected={row.expected}
        />
        <Output name="Base" text={base?.output ?? ''} expected={row.expected} />
        <div>
          <p className="caption">Expected</p>
          <p className="text">{row.expected}</p>
        </div>
      </div>
      {tuned?.scores && (
        <p className="quiet">
          {Object.entries(tuned.scores)
            .map(([grader, score]) => `${grader} ${rounded(score)} (base ${rounded(base?.scores?.[grader])})`)
            .join(' · ')}
        </p>
      )}
    </li>
  )
}

/** What is not as expected is marked. White space around an answer does not count, and is not shown. */
export function Output({ name, text, expected }: { name: string; text: string; expected: string }) {
  return (
    <div>
      <p className="caption">{name}</p>
      <p className="text">
        {text.trim() === '' && <span className="quiet">no text</span>}
        {difference(text.trim(), expected.trim()).map(({ text: piece, isSame }, index) =>
          isSame ? <span key={index}>{piece}</span> : <mark key={index}>{piece}</mark>,
        )}
      </p>
    </div>
  )
}
