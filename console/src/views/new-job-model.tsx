// The model of a new job.
import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { useJobs } from '../api/job-list.ts'
import { modelsQuery, type Model } from '../api/models.ts'
import { count, duration, parameters } from '../domain/format.ts'
import { keptInWords, type JobForm } from '../domain/job-form.ts'
import { partsOfBase } from '../domain/job-list.ts'
import { Card } from '../ui/card.tsx'
import { Chip } from '../ui/chip.tsx'
import { Field } from '../ui/field.tsx'
import { WholeNumber } from '../ui/whole-number.tsx'
import { Failure } from '../ui/states.tsx'

type Props = {
  form: JobForm
  change: (changes: Partial<JobForm>) => void
  choose: (model: string) => void
}

export function ModelPart({ form, change, choose }: Props) {
  const models = useQuery(modelsQuery)
  const bases = (models.data ?? []).filter(
    ({ task, owned_by: owner }) => task === 'completion' && owner === 'catalogue',
  )
  // The service's default model comes first.
  const preset = bases[0]?.id
  useEffect(() => {
    if (form.model === '' && preset !== undefined) change({ model: preset })
  })
  const isOther = form.model !== '' && models.data !== undefined && bases.every(({ id }) => id !== form.model)
  return (
    <Card title="Model">
      {models.error && <Failure error={models.error} retry={() => void models.refetch()} />}
      <div className="model-cards" role="radiogroup" aria-label="Base">
        {bases.map((model) => (
          <ModelCard key={model.id} model={model} isChosen={model.id === form.model} choose={() => choose(model.id)} />
        ))}
        {isOther && (
          <label className="model-card">
            <input type="radio" name="model" checked readOnly />
            <strong>{form.model}</strong>
            <span className="quiet small">a tuned model, or a base that the catalogue no longer names</span>
          </label>
        )}
      </div>
      <Field id="name" label="Name of the tuned model" hint="each job with this name makes its next version">
        <input id="name" maxLength={256} value={form.name} onChange={(event) => change({ name: event.target.value })} />
      </Field>
    </Card>
  )
}

type CardProps = { model: Model; isChosen: boolean; choose: () => void }

function ModelCard({ model, isChosen, choose }: CardProps) {
  const { owner, name } = partsOfBase(model.id)
  const last = useJobs().data?.find((job) => job.base_model === model.id && job.status === 'COMPLETED')
  const isChat = 'has_chat_template' in model && model.has_chat_template === true
  const other = model.aliases[0]
  return (
    <label className="model-card">
      <input type="radio" name="model" checked={isChosen} onChange={choose} />
      <strong>
        <span className="quiet">{owner}</span>
        {name}
      </strong>
      {other && <span className="quiet small">{other}</span>}
      <span className="chips">
        {model.parameter_count !== null && <Chip>{parameters(model.parameter_count)} parameters</Chip>}
        {model.context_length !== null && <Chip>{count(model.context_length)} tokens of context</Chip>}
        {isChat && <Chip tone="runs">chat</Chip>}
        {model.license !== null && <Chip>{model.license}</Chip>}
      </span>
      <span className="quiet small">
        {last ? `Your last job on it took ${duration(last.training_seconds)}` : 'No job of yours has run on it yet'}
      </span>
    </label>
  )
}

type EvaluationProps = Pick<Props, 'form' | 'change'>

/** After the training, the model and its base answer rows that were set aside. */
export function EvaluationPart({ form, change }: EvaluationProps) {
  const { evaluationRows: rows, evaluationTokens: tokens } = form
  const kept = keptInWords(form.kept)
  return (
    <Card title="Evaluation">
      <p className="quiet lead">
        After the training, the tuned model and its base answer rows that were set aside. Fewer rows and shorter answers
        take less time.
      </p>
      <details open={rows !== '' || tokens !== ''}>
        <summary>Limits of the evaluation</summary>
        <div className="columns">
          <Field id="evaluation-rows" label="Rows at most" hint="all that were set aside, unless you limit them">
            <WholeNumber
              id="evaluation-rows"
              max={2000}
              value={rows}
              onChange={(evaluationRows) => change({ evaluationRows })}
            />
          </Field>
          <Field id="evaluation-tokens" label="Tokens of an answer at most" hint="chosen by the expected answers">
            <WholeNumber
              id="evaluation-tokens"
              max={4096}
              value={tokens}
              onChange={(evaluationTokens) => change({ evaluationTokens })}
            />
          </Field>
        </div>
      </details>
      {kept.length > 0 && (
        <p className="small">
          Kept from the earlier job: {kept.join('; ')}.{' '}
          <button type="button" className="plain" onClick={() => change({ kept: {} })}>
            Leave out
          </button>
        </p>
      )}
    </Card>
  )
}
