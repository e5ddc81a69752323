// The best and the worst answers of a step of reinforcement, with their rewards: a grader that can be cheated shows here first.
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { rolloutsQuery } from '../api/jobs.ts'
import type { Job } from '../api/job.ts'
import { fixed } from '../domain/format.ts'
import { bestAndWorst, type ShownSample } from '../domain/rollouts.ts'
import { Card } from '../ui/card.tsx'
import { Field } from '../ui/field.tsx'
import { Answer, Empty } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { WholeNumber } from '../ui/whole-number.tsx'

const shownAnswers = 5

export function JobRollouts({ job, isOpen }: { job: Job; isOpen: boolean }) {
  const [step, setStep] = useState('')
  const rollouts = useQuery(rolloutsQuery(job.job_id, step, isOpen))
  return (
    <>
      <Field id="step" label="Step" hint="the newest one when empty">
        <WholeNumber id="step" max={Number.MAX_SAFE_INTEGER} value={step} onChange={setStep} />
      </Field>
      <Answer query={rollouts} what="the samples">
        {(known) => {
          if (!known) return <Empty>No answers are stored of this step.</Empty>
          const { best, worst, unscored } = bestAndWorst(known.groups, shownAnswers)
          return (
            <>
              <Samples title={`Best answers of step ${known.step}`} samples={best} />
              <Samples title="Worst answers" samples={worst} />
              <Samples title="Answers without a score" samples={unscored.slice(0, shownAnswers)} />
            </>
          )
        }}
      </Answer>
    </>
  )
}

function Samples({ title, samples }: { title: string; samples: readonly ShownSample[] }) {
  if (samples.length === 0) return null
  return (
    <Card title={title}>
      <Table
        label={title}
        rows={samples}
        keyOf={({ row, index }) => `${row} ${index}`}
        columns={[
          {
            name: 'Reward',
            cell: ({ reward, error }) => (reward === null ? (error?.message ?? 'not graded') : fixed(reward)),
          },
          { name: 'Graders', cell: ({ grades }) => gradesText(grades), className: 'medium' },
          { name: 'Prompt', cell: ({ prompt }) => prompt, className: 'text' },
          { name: 'Answer', cell: ({ text }) => text, className: 'text', isHead: true },
          {
            name: 'Tokens',
            cell: ({ tokens, finish_reason: end }) => (end === 'length' ? `${tokens}, cut off` : tokens),
          },
        ]}
      />
    </Card>
  )
}

const gradesText = (grades: ShownSample['grades']) =>
  Object.entries(grades)
    .map(([name, grade]) => `${name} ${grade === null ? '–' : fixed(grade)}`)
    .join(', ')
