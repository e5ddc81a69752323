// The models that can be asked: those of the catalogue, and the tuned ones of the account.
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api/client.ts'
import { useJobs } from '../api/job-list.ts'
import { modelsQuery, refreshModels, versionsQuery, type Model } from '../api/models.ts'
import { useMay } from '../api/session.ts'
import { short } from '../domain/format.ts'
import { Confirm } from '../ui/confirm.tsx'
import { Head } from '../ui/head.tsx'
import { usePageTitle } from '../ui/page-title.ts'
import { Link } from '../ui/router.tsx'
import { Answer, Empty, Failure } from '../ui/states.tsx'
import { When } from '../ui/text.tsx'
import { ExportModel } from './export-model.tsx'

type Act = { kind: 'delete' | 'export' | 'alias'; model: Model; name: string }

export function ModelsView() {
  usePageTitle('Models')
  const models = useQuery(modelsQuery)
  const [act, setAct] = useState<Act | null>(null)
  return (
    <>
      <h1>Models</h1>
      <Answer query={models} what="the models">
        {(all) => (
          <>
            <h2>Tuned</h2>
            <Tuned models={all.filter(({ owned_by: owner }) => owner === 'account')} act={setAct} />
            <h2>Catalogue</h2>
            <Catalogue models={all.filter(({ owned_by: owner }) => owner === 'catalogue')} />
          </>
        )}
      </Answer>
      {act?.kind === 'delete' && <Delete model={act.model} name={act.name} close={() => setAct(null)} />}
      {act?.kind === 'export' && <ExportModel name={act.model.id} close={() => setAct(null)} />}
      {act?.kind === 'alias' && <MoveAlias name={act.name} close={() => setAct(null)} />}
    </>
  )
}

function Tuned({ models, act }: { models: Model[]; act: (act: Act) => void }) {
  const jobs = useJobs()
  const [mayTrain, mayAsk] = [useMay('training'), useMay('inference')]
  const nameOf = ({ id, job_id: jobId, aliases }: Model) =>
    jobs.data?.find((job) => job.job_id === jobId)?.requested_name || aliases[0]?.split('@')[0] || short(id)
  if (models.length === 0) return <Empty>No tuned model yet: it appears when its job has saved it.</Empty>
  return (
    <table className="list">
      <Head columns={['Model', ['Base', 'medium'], ['Job', 'medium'], ['Made', 'wide'], '']} />
      <tbody>
        {models.map((model) => {
          const name = nameOf(model)
          return (
            <tr key={model.id}>
              <td className="text">
                <Link href={`/models/${encodeURIComponent(model.aliases.length > 0 ? name : model.id)}`}>{name}</Link>{' '}
                <span className="quiet">{model.aliases.join(', ')}</span>
                {name !== short(model.id) && (
                  <code className="quiet" title={model.id}>
                    {' '}
                    {short(model.id)}
                  </code>
                )}
              </td>
              <td className="medium">{model.base_model}</td>
              <td className="medium">
                {model.job_id !== null && <Link href={`/jobs/${model.job_id}`}>{model.job_id}</Link>}
              </td>
              <td className="wide">
                <When at={new Date(model.created * 1000)} as="age" />
              </td>
              <td>
                <div className="buttons">
                  {mayAsk && (
                    <Link
                      className="button"
                      href={`/playground?models=${encodeURIComponent([model.id, model.base_model].join(','))}&temperature=0`}
                    >
                      Ask
                    </Link>
                  )}
                  <button type="button" onClick={() => act({ kind: 'export', model, name })}>
                    Export
                  </button>
                  {mayTrain && model.aliases.length > 0 && (
                    <button type="button" onClick={() => act({ kind: 'alias', model, name })}>
                      Move alias
                    </button>
                  )}
                  {mayTrain && (
                    <button type="button" className="danger" onClick={() => act({ kind: 'delete', model, name })}>
                      Delete
                    </button>
                  )}
                </div>
              </td>
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}

function Catalogue({ models }: { models: Model[] }) {
  return (
    <table className="list">
      <Head columns={['Model', 'Task', ['Context', 'medium'], ['Other names', 'medium']]} />
      <tbody>
        {models.map(({ id, task, context_length: context, aliases, starting }) => (
          <tr key={id}>
            <td className="text">
              {id} {starting !== null && <span className="quiet">{starting}</span>}
            </td>
            <td>{task}</td>
            <td className="medium">{context === null ? '–' : `${context} tokens`}</td>
            <td className="medium text">{aliases.join(', ')}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Delete({ model, name, close }: { model: Model; name: string; close: () => void }) {
  const remove = async () => {
    await api.DELETE('/v1/models/{name}', { params: { path: { name: model.id } } })
    await refreshModels()
  }
  return (
    <Confirm title={`Delete ${name}?`} action="Delete" isDangerous act={remove} close={close}>
      <p>
        Its files, its evaluation and <code>{short(model.id)}</code> are removed for good; requests for it get 404. The
        job stays.
      </p>
      {model.aliases.length > 0 && <p>No longer answered: {model.aliases.join(', ')}.</p>}
    </Confirm>
  )
}

function MoveAlias({ name, close }: { name: string; close: () => void }) {
  const [alias, setAlias] = useState('production')
  const [version, setVersion] = useState('')
  const versions = useQuery(versionsQuery(name))
  const move = async () => {
    const params = { path: { name, alias } }
    await api.PUT('/v1/models/{name}/aliases/{alias}', { params, body: { version: Number(version) } })
    await refreshModels()
  }
  const now = versions.data?.aliases.find((each) => each.alias === alias)
  return (
    <Confirm title={`Move an alias of ${name}`} action="Move" act={move} close={close}>
      <p>
        Requests for <code>{`${name}@${alias}`}</code> get the chosen version from the next one on.
        {now && ` Now they get version ${now.version}.`}
      </p>
      <div className="field">
        <label htmlFor="alias">Alias</label>
        <input id="alias" required value={alias} onChange={(event) => setAlias(event.target.value)} />
      </div>
      <div className="field">
        <label htmlFor="version">Version</label>
        <select id="version" required value={version} onChange={(event) => setVersion(event.target.value)}>
          <option value="">Choose a version</option>
          {versions.data?.versions.map(({ version: number, job_id: job, dataset_id: data }) => (
            <option key={job} value={number ?? ''}>
              {number} · job {job} · {data}
            </option>
          ))}
        </select>
      </div>
      {versions.error && <Failure error={versions.error} />}
    </Confirm>
  )
}
