// A new job: data, its check, the model, the method with its arguments, what it will take, and the start.
import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { columnsQuery, reportQuery, type Report } from '../api/data.ts'
import { forgetDraft, keepDraft, readDraft } from '../api/job-draft.ts'
import { useJobs } from '../api/job-list.ts'
import { jobQuery, methodsQuery } from '../api/jobs.ts'
import { modelsQuery } from '../api/models.ts'
import { useMay } from '../api/session.ts'
import {
  emptyForm,
  formOf,
  methodsOfRows,
  requestOf,
  withMethod,
  type JobForm,
  type TrainRequest,
} from '../domain/job-form.ts'
import { numberedName } from '../domain/job-list.ts'
import { Choice } from '../ui/labelled.tsx'
import { usePageTitle } from '../ui/page-title.ts'
import { useLocation, useQueryOfAddress } from '../ui/router.tsx'
import { Answer, Empty } from '../ui/states.tsx'
import { LearnedForm } from './learned-form.tsx'
import { DataPart } from './new-job-data.tsx'
import { EvaluationPart, ModelPart } from './new-job-model.tsx'
import { StartPart, useProblems, useSubmit } from './new-job-start.tsx'
import { TrainingPart } from './new-job-training.tsx'

export function NewJobView() {
  usePageTitle('New job')
  const mayTrain = useMay('training')
  const [query] = useQueryOfAddress()
  const from = Number(query.get('from') ?? 0)
  const [data, model] = [query.get('data'), query.get('model')]
  const given = { ...(data && { datasetId: data, sets: null }), ...(model && { model }) }
  const original = useQuery({ ...jobQuery(from), enabled: from > 0 })
  const [restarts, setRestarts] = useState(0)
  if (!mayTrain)
    return (
      <>
        <h1>New job</h1>
        <Empty>This key may not train models: it needs the scope “training”.</Empty>
      </>
    )
  return (
    <>
      <div className="title">
        <h1>New job</h1>
        <Template from={from} restart={() => setRestarts(restarts + 1)} />
      </div>
      {from > 0 ? (
        <Answer query={original} what="the job to duplicate">
          {(job) => (
            <JobFormView key={`${from} ${restarts}`} from={from} start={{ ...formOf(job), ...given }} model={model} />
          )}
        </Answer>
      ) : (
        <JobFormView key={`new ${restarts}`} from={0} start={{ ...emptyForm, ...given }} model={model} />
      )}
    </>
  )
}

/** Fills the form in with the model, data and arguments of an earlier job, or empties it. */
function Template({ from, restart }: { from: number; restart: () => void }) {
  const offered = useJobs().data ?? []
  const [, navigate] = useLocation()
  const names = new Map(offered.map((job) => [String(job.job_id), numberedName(job)]))
  const begin = (address: string) => {
    forgetDraft()
    navigate(address)
    restart()
  }
  return (
    <div className="buttons template">
      {offered.length > 0 && (
        <Choice
          label="Fill in from an earlier job"
          value={from > 0 ? String(from) : ''}
          values={['', ...new Set([...(from > 0 ? [String(from)] : []), ...names.keys()])]}
          textOf={(id) => (id === '' ? 'none' : (names.get(id) ?? `#${id}`))}
          onChange={(id) => begin(id === '' ? '/new' : `/new?from=${id}`)}
        />
      )}
      <button type="button" className="plain" onClick={() => begin('/new')}>
        Empty the form
      </button>
    </div>
  )
}

type FormProps = {
  from: number
  start: JobForm
  /** Of the address. */
  model: string | null
}

function JobFormView({ from, start, model }: FormProps) {
  const [, changeQuery] = useQueryOfAddress()
  const [form, setForm] = useState(() => withDraft({ start, model }, readDraft(from)))
  useEffect(() => keepDraft(from, form), [from, form])
  const change = (changes: Partial<JobForm>) => setForm((known) => ({ ...known, ...changes }))
  const chooseData = (datasetId: string) => {
    change({ datasetId, sets: null, skipsBadRows: false })
    changeQuery({ data: datasetId })
  }
  const chooseModel = (id: string) => {
    change({ model: id })
    changeQuery({ model: id })
  }
  // A base that the catalogue no longer names counts no tokens.
  const counted = useQuery(modelsQuery).data?.find(({ id }) => id === form.model)?.id
  const rows = useQuery({ ...columnsQuery(form.datasetId, null), enabled: form.datasetId !== '' })
  const rowsMethod = rows.isPlaceholderData ? undefined : rows.data?.method
  const methods = useQuery(methodsQuery)
  const fitting = rowsMethod && methods.data && methodsOfRows(methods.data, rowsMethod)
  const asked = withMethod(form, fitting)
  // The rows are checked for one method, so it has to be known.
  const isKnown = form.datasetId !== '' && !rows.isPending && !rows.isPlaceholderData && !methods.isPending
  const report = useQuery({ ...reportQuery(form.datasetId, counted, asked.method), enabled: isKnown })
  const request = readRequest(asked)
  const submit = useSubmit(JSON.stringify(request.value))
  const missing = missingOf(form, report)
  const problems = useProblems({ request, missing, submit })
  return (
    <form
      className="new-job"
      onSubmit={(event) => {
        event.preventDefault()
        if (request.value && missing === null) submit.mutate(request.value)
      }}
    >
      <div className="parts">
        <DataPart form={form} change={change} choose={chooseData} report={report} problems={problems} />
        <ModelPart form={form} change={change} choose={chooseModel} />
        <TrainingPart form={asked} change={change} fitting={fitting} problems={problems} />
        <EvaluationPart form={form} change={change} />
      </div>
      <div className="beside">
        <StartPart request={request} missing={missing} submit={submit}>
          <LearnedForm form={report.data?.form ?? null} modelId={form.model} />
        </StartPart>
      </div>
    </form>
  )
}

/** What the user has typed comes before what the form begins with, unless the address names other data or another model. */
function withDraft({ start, model }: Pick<FormProps, 'start' | 'model'>, draft: JobForm | null): JobForm {
  if (draft === null) return start
  const kept = model === null ? draft : { ...draft, model }
  const isOther = start.datasetId !== '' && start.datasetId !== draft.datasetId
  return isOther ? { ...kept, datasetId: start.datasetId, sets: null, skipsBadRows: false } : kept
}

function missingOf(form: JobForm, report: UseQueryResult<Report | null>): string | null {
  if (form.datasetId === '') return 'Choose the data first: upload a file, or choose a data set of yours.'
  if (report.data == null)
    return report.isPending ? 'The rows are being checked.' : 'Choose another data set: this one does not exist.'
  const { state, skippable, rows, bad_rows: bad } = report.data
  if (state === 'empty') return 'The data set has no rows.'
  if (state === 'invalid' && !(form.skipsBadRows && skippable)) {
    if (skippable) return 'Some rows are bad: mend the file, or leave them out.'
    return bad === rows ? 'Choose the columns that hold the rows, or mend the file.' : 'Mend the data first.'
  }
  return form.model === '' ? 'Choose a model.' : null
}

function readRequest(form: JobForm): { value?: TrainRequest; problem?: string } {
  try {
    return { value: requestOf(form) }
  } catch (error) {
    return { problem: (error as Error).message }
  }
}
