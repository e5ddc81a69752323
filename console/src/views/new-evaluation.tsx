// The form of a new evaluation, empty or with the choices of an earlier one.
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api/client.ts'
import { datasetsQuery } from '../api/data.ts'
import { modelEvaluationQuery, refreshEvaluations } from '../api/evaluations.ts'
import { modelsQuery } from '../api/models.ts'
import { useNames } from '../api/names.ts'
import {
  emptyEvaluation,
  evaluationRequestOf,
  formOfEvaluation,
  type EvaluationForm,
  type UsedGrader,
} from '../domain/evaluation-form.ts'
import { graders as allGraders, meaningOf } from '../domain/evaluation.ts'
import { count } from '../domain/format.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Choice, Labelled } from '../ui/labelled.tsx'
import { randomId } from '../ui/random-id.ts'
import { useLocation } from '../ui/router.tsx'
import { Answer, Failure } from '../ui/states.tsx'
import { toast } from '../ui/toast.tsx'
import { WholeNumber } from '../ui/whole-number.tsx'

const mostModels = 8

/** @param from the id of an earlier evaluation */
export function NewEvaluation({ from, close }: { from: string | null; close: () => void }) {
  const earlier = useQuery({ ...modelEvaluationQuery(from ?? ''), enabled: from !== null })
  return (
    <Dialog title="New evaluation" close={close}>
      {from === null ? (
        <Form start={emptyEvaluation} close={close} />
      ) : (
        <Answer query={earlier} what="the evaluation">
          {(evaluation) => <Form start={formOfEvaluation(evaluation)} close={close} />}
        </Answer>
      )}
    </Dialog>
  )
}

function Form({ start, close }: { start: EvaluationForm; close: () => void }) {
  const [form, setForm] = useState(start)
  const change = (changes: Partial<EvaluationForm>) => setForm((known) => ({ ...known, ...changes }))
  const [key] = useState(randomId)
  const [, navigate] = useLocation()
  const create = useMutation({
    mutationFn: () =>
      api.POST('/v1/evaluations', { body: evaluationRequestOf(form), headers: { 'Idempotency-Key': key } }),
    onSuccess: async ({ id }) => {
      await refreshEvaluations()
      navigate(`/evaluations/${id}`)
      toast('Created the evaluation')
    },
  })
  const isReady = form.models.length > 0 && form.datasetId !== ''
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        create.mutate()
      }}
    >
      <Models form={form} change={change} />
      <Data form={form} change={change} />
      <Graders form={form} change={change} />
      <Asking form={form} change={change} />
      {create.error && <Failure error={create.error} />}
      <div className="buttons">
        <button type="button" onClick={close}>
          Close
        </button>
        <button type="submit" className="primary" disabled={!isReady || create.isPending}>
          Create evaluation
        </button>
      </div>
    </form>
  )
}

type Part = { form: EvaluationForm; change: (changes: Partial<EvaluationForm>) => void }

function Models({ form: { models }, change }: Part) {
  const { modelName } = useNames()
  const offered = (useQuery(modelsQuery).data ?? []).filter(({ task }) => task === 'completion').map(({ id }) => id)
  const toggle = (id: string) =>
    change({ models: models.includes(id) ? models.filter((each) => each !== id) : [...models, id] })
  return (
    <fieldset>
      <legend>Models</legend>
      <p className="quiet small">Up to {mostModels}. The others are compared with the first.</p>
      <div className="options">
        {[...new Set([...offered, ...models])].map((id) => (
          <label key={id} className="inline" title={id}>
            <input
              type="checkbox"
              checked={models.includes(id)}
              disabled={!models.includes(id) && models.length >= mostModels}
              onChange={() => toggle(id)}
            />{' '}
            {modelName(id)}
          </label>
        ))}
      </div>
    </fieldset>
  )
}

function Data({ form: { datasetId, rows, skipsBadRows }, change }: Part) {
  const datasets = useQuery(datasetsQuery).data?.datasets ?? []
  const { datasetName } = useNames()
  const bad = datasets.find((each) => each.dataset_id === datasetId)?.bad_rows ?? 0
  return (
    <>
      <div className="filters">
        <Choice
          label="Data set"
          value={datasetId}
          values={[...new Set(['', ...datasets.map(({ dataset_id: id }) => id), datasetId])]}
          textOf={(id) => datasetName(id) || 'Choose a data set'}
          onChange={(id) => change({ datasetId: id, skipsBadRows: false })}
        />
        <Labelled name="Rows at most">
          <WholeNumber max={2000} placeholder="500" value={rows} onChange={(typed) => change({ rows: typed })} />
        </Labelled>
      </div>
      {(bad > 0 || skipsBadRows) && (
        <label className="inline">
          <input
            type="checkbox"
            checked={skipsBadRows}
            onChange={({ target }) => change({ skipsBadRows: target.checked })}
          />
          {bad === 1 ? 'Leave out the bad row' : `Leave out ${bad > 0 ? `the ${count(bad)} ` : ''}bad rows`} of this
          data set. Otherwise the evaluation fails.
        </label>
      )}
    </>
  )
}

const labelOf = ({ type, name = type }: UsedGrader) => name

function Graders({ form: { graders }, change }: Part) {
  // Those of an earlier evaluation may have parameters.
  const [given] = useState(graders)
  const plain = allGraders.filter((type) => given.every((each) => labelOf(each) !== type)).map((type) => ({ type }))
  const isChosen = (grader: UsedGrader) => graders.some((each) => labelOf(each) === labelOf(grader))
  const toggle = (grader: UsedGrader) =>
    change({
      graders: isChosen(grader) ? graders.filter((each) => labelOf(each) !== labelOf(grader)) : [...graders, grader],
    })
  return (
    <details>
      <summary>Graders: {graders.length === 0 ? 'chosen by the data' : graders.map(labelOf).join(', ')}</summary>
      <div className="options">
        {[...given, ...plain].map((grader) => (
          <label key={labelOf(grader)} className="inline">
            <input type="checkbox" checked={isChosen(grader)} onChange={() => toggle(grader)} />{' '}
            <span title={meaningOf(grader.type) ?? undefined}>{labelOf(grader)}</span>
          </label>
        ))}
      </div>
    </details>
  )
}

const forms = { learned: null, chat: true, prompt: false } as const
type FormName = keyof typeof forms
const formTexts: Record<FormName, string> = {
  learned: 'in the form that each model learned',
  chat: 'as chats',
  prompt: 'as plain prompts',
}

const systems = ['learned', 'none', 'own'] as const
type System = (typeof systems)[number]
const systemTexts: Record<System, string> = {
  learned: 'the one that the model learned',
  none: 'none',
  own: 'this text:',
}

/** How the rows are asked. Few evaluations need another way than the usual one. */
function Asking({ form: { asChat, system, tokens }, change }: Part) {
  const chosen = system === null ? 'learned' : system === '' ? 'none' : 'own'
  const [kind, setKind] = useState<System>(chosen)
  return (
    <details>
      <summary>Questions and answers</summary>
      <div className="filters">
        <Choice
          label="Rows are asked"
          value={asChat === null ? 'learned' : asChat ? 'chat' : 'prompt'}
          values={Object.keys(forms) as FormName[]}
          textOf={(name) => formTexts[name]}
          onChange={(name) => change({ asChat: forms[name] })}
        />
        <Labelled name="Tokens of an answer at most">
          <WholeNumber max={4096} placeholder="256" value={tokens} onChange={(typed) => change({ tokens: typed })} />
        </Labelled>
        {asChat !== false && (
          <Choice
            label="System message"
            value={kind}
            values={systems}
            textOf={(each) => systemTexts[each]}
            onChange={(each) => {
              setKind(each)
              change({ system: each === 'learned' ? null : '' })
            }}
          />
        )}
      </div>
      {asChat !== false && kind === 'own' && (
        <textarea
          aria-label="System message"
          rows={2}
          value={system ?? ''}
          onChange={({ target }) => change({ system: target.value })}
        />
      )}
    </details>
  )
}
