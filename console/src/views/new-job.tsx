// A new job: data, its check, the model with its arguments, what it will cost, and the start.
import { useMutation, useQuery, type UseQueryResult } from '@tanstack/react-query'
import { useEffect, useState, type ReactNode } from 'react'
import { api } from '../api/client.ts'
import { datasetsQuery, reportQuery, type Report } from '../api/data.ts'
import { ApiError } from '../api/errors.ts'
import { estimateQuery, jobQuery, refreshJobs, useJobs } from '../api/jobs.ts'
import { modelsQuery } from '../api/models.ts'
import { useMay } from '../api/session.ts'
import { emptyForm, fields, formOf, requestOf, type JobForm, type TrainRequest } from '../domain/job-form.ts'
import { count, duration } from '../domain/format.ts'
import { nameOf } from '../domain/job-list.ts'
import { Commands } from '../ui/commands.tsx'
import { usePageTitle } from '../ui/page-title.ts'
import { randomId } from '../ui/random-id.ts'
import { useLocation, useQueryOfAddress } from '../ui/router.tsx'
import { Answer, Empty, Failure, Loading } from '../ui/states.tsx'
import { DatasetReport } from './dataset-report.tsx'
import { MapColumns } from './map-columns.tsx'
import { Upload } from './upload.tsx'

export function NewJobView() {
  usePageTitle('New job')
  const mayTrain = useMay('training')
  const [query] = useQueryOfAddress()
  const from = Number(query.get('from') ?? 0)
  const [data, model] = [query.get('data'), query.get('model')]
  const given = { ...(data && { datasetId: data }), ...(model && { model }) }
  const original = useQuery({ ...jobQuery(from), enabled: from > 0 })
  if (!mayTrain)
    return (
      <>
        <h1>New job</h1>
        <Empty>This key may not train models: it needs the scope “training”.</Empty>
      </>
    )
  return (
    <>
      <h1>New job</h1>
      <Template from={from} />
      {from > 0 ? (
        <Answer query={original} what="the job to duplicate">
          {(job) => <JobFormView key={from} start={{ ...formOf(job), ...given }} />}
        </Answer>
      ) : (
        <JobFormView start={{ ...emptyForm, ...given }} />
      )}
    </>
  )
}

const mostTemplates = 100

/** Fills the form in with the model, data and arguments of an earlier job. */
function Template({ from }: { from: number }) {
  const jobs = useJobs()
  const [, navigate] = useLocation()
  const offered = (jobs.data ?? []).filter(({ job_id: id }, index) => index < mostTemplates || id === from)
  if (offered.length === 0) return null
  return (
    <Field id="template" label="Fill in from an earlier job" hint="replaces what is in the form">
      <select
        id="template"
        value={from > 0 ? String(from) : ''}
        onChange={({ target: { value } }) => navigate(value === '' ? '/new' : `/new?from=${value}`)}
      >
        <option value="">None</option>
        {offered.map((job) => (
          <option key={job.job_id} value={String(job.job_id)}>
            {job.job_id} · {nameOf(job)} · {job.status.toLowerCase()}
          </option>
        ))}
      </select>
    </Field>
  )
}

function JobFormView({ start }: { start: JobForm }) {
  const [form, setForm] = useState(start)
  const [, navigate] = useLocation()
  const [, changeQuery] = useQueryOfAddress()
  const change = (changes: Partial<JobForm>) => setForm((known) => ({ ...known, ...changes }))
  const chooseData = (datasetId: string) => {
    change({ datasetId })
    changeQuery({ data: datasetId })
  }
  const report = useQuery(reportQuery(form.datasetId))
  const isReady = form.model !== '' && report.data?.state === 'valid'
  const request = readRequest(form)
  // One key for one content: a repeat after a lost answer gives the same job.
  const body = JSON.stringify(request.value)
  const [key, setKey] = useState(randomId)
  useEffect(() => setKey(randomId()), [body])
  const submit = useMutation({
    mutationFn: (train: TrainRequest) => api.POST('/v1/train', { body: train, headers: { 'Idempotency-Key': key } }),
    onSuccess: (accepted) => {
      void refreshJobs()
      if ('job_id' in accepted) navigate(`/jobs/${accepted.job_id}`)
    },
  })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (request.value) submit.mutate(request.value)
      }}
    >
      <DataPart datasetId={form.datasetId} choose={chooseData} report={report} />
      <ModelPart form={form} change={change} />
      {request.problem && <p className="notice failure">{request.problem}</p>}
      {isReady && request.value && <Estimate request={request.value} />}
      {submit.error && <Failure error={submit.error} />}
      {submit.error instanceof ApiError && submit.error.issues.length > 1 && (
        <ul>
          {submit.error.issues.map(({ path, message }) => (
            <li key={path}>{message}</li>
          ))}
        </ul>
      )}
      <div className="buttons">
        <button type="submit" className="primary" disabled={!isReady || !request.value || submit.isPending}>
          Start training
        </button>
      </div>
      {request.value && <Commands path="/v1/train" body={request.value} />}
    </form>
  )
}

function readRequest(form: JobForm): { value?: TrainRequest; problem?: string } {
  try {
    return { value: requestOf(form) }
  } catch (error) {
    return { problem: (error as Error).message }
  }
}

type DataProps = { datasetId: string; choose: (id: string) => void; report: UseQueryResult<Report | null> }

function DataPart({ datasetId, choose, report }: DataProps) {
  const datasets = useQuery(datasetsQuery)
  return (
    <fieldset>
      <legend>Data</legend>
      <Upload done={({ id }) => choose(id)} />
      <Field id="data" label="Or a data set that is there">
        <input
          id="data"
          list="known-data"
          value={datasetId}
          autoComplete="off"
          onChange={(event) => choose(event.target.value.trim())}
        />
        <datalist id="known-data">
          {(datasets.data?.datasets ?? []).map(({ dataset_id: id, file_name: file }) => (
            <option key={id} value={id}>
              {file ?? id}
            </option>
          ))}
        </datalist>
      </Field>
      {datasetId !== '' && report.data === null && <p className="notice">There is no data set {datasetId}.</p>}
      {report.data && <DatasetReport report={report.data} />}
      {report.data?.state === 'invalid' && <MapColumns key={datasetId} datasetId={datasetId} done={choose} />}
      {datasetId !== '' && report.isPending && <Loading what="the check of the rows" />}
      {report.error && <Failure error={report.error} retry={() => void report.refetch()} />}
    </fieldset>
  )
}

function ModelPart({ form, change }: { form: JobForm; change: (changes: Partial<JobForm>) => void }) {
  const models = useQuery(modelsQuery)
  const bases = (models.data ?? []).filter(
    ({ task, owned_by: owner }) => task === 'completion' && owner === 'catalogue',
  )
  const recommended = bases.find(({ id }) => id === form.model)?.recommended_args
  // The service's default model comes first.
  const preset = bases[0]?.id
  useEffect(() => {
    if (form.model === '' && preset !== undefined) change({ model: preset })
  })
  return (
    <fieldset>
      <legend>Model</legend>
      {models.error && <Failure error={models.error} retry={() => void models.refetch()} />}
      <Field id="model" label="Base">
        <select id="model" required value={form.model} onChange={(event) => change({ model: event.target.value })}>
          <option value="">Choose a model</option>
          {[...new Set([...bases.map(({ id }) => id), ...(form.model === '' ? [] : [form.model])])].map((id) => (
            <option key={id}>{id}</option>
          ))}
        </select>
      </Field>
      <Field id="name" label="Name of the tuned model">
        <input id="name" maxLength={256} value={form.name} onChange={(event) => change({ name: event.target.value })} />
      </Field>
      <details open={Object.keys(form.args).length > 0 || form.more !== ''}>
        <summary>Arguments; empty fields are the model's recommended ones</summary>
        <div className="columns">
          {fields.map(([name, label, hint]) => (
            <Field key={name} id={name} label={label} hint={hint}>
              <input
                id={name}
                inputMode="decimal"
                value={form.args[name] ?? ''}
                placeholder={JSON.stringify(recommended?.[name] ?? undefined)}
                onChange={(event) => change({ args: { ...form.args, [name]: event.target.value } })}
              />
            </Field>
          ))}
        </div>
        <Field id="more" label="Further arguments, as JSON">
          <textarea id="more" rows={2} value={form.more} onChange={(event) => change({ more: event.target.value })} />
        </Field>
      </details>
    </fieldset>
  )
}

type FieldProps = { id: string; label: string; hint?: string; children: ReactNode }

function Field({ id, label, hint, children }: FieldProps) {
  return (
    <div className="field">
      <label htmlFor={id}>
        {label} {hint && <span className="quiet">{hint}</span>}
      </label>
      {children}
    </div>
  )
}

function Estimate({ request }: { request: TrainRequest }) {
  const estimate = useQuery(estimateQuery(request))
  return (
    <Answer query={estimate} what="the estimate">
      {({ rows, steps, epochs, estimated_seconds: seconds, note }) => (
        <p className="notice" role="status">
          {count(rows)} rows, {count(steps)} steps, {Number(epochs.toFixed(2))} epochs.{' '}
          {seconds && `About ${duration(seconds.likely)} (${duration(seconds.low)} to ${duration(seconds.high)}). `}
          {note}
        </p>
      )}
    </Answer>
  )
}
