// What can be done to a tuned model, each with a sentence about its consequence.
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api/client.ts'
import { refreshModels, versionsQuery } from '../api/models.ts'
import { useNames } from '../api/names.ts'
import { useMay } from '../api/session.ts'
import { Confirm } from '../ui/confirm.tsx'
import { Link } from '../ui/router.tsx'
import { Failure } from '../ui/states.tsx'
import { ExportModel } from './export-model.tsx'

export type Tuned = {
  id: string
  /** What a person calls it, such as bot@2. */
  label: string
  /** The name that its versions share; null without one. */
  name: string | null
  baseModel: string | null
  aliases: readonly string[]
}

type Props = {
  model: Tuned
  /** Beside the title the first action is the main one. A row of one name's versions leaves the aliases to the title. */
  place: 'title' | 'models' | 'versions'
  /** After the model is gone. */
  onDeleted?: () => void
}

export function ModelActions({ model, place, onDeleted }: Props) {
  const [mayTrain, mayAsk] = [useMay('training'), useMay('inference')]
  const [act, setAct] = useState<'delete' | 'export' | 'alias' | null>(null)
  const close = () => setAct(null)
  const asked = [model.id, ...(model.baseModel === null ? [] : [model.baseModel])].map(encodeURIComponent).join(',')
  return (
    <>
      <div className="buttons">
        {mayAsk && (
          <Link
            className={place === 'title' ? 'button primary' : 'button'}
            href={`/playground?models=${asked}&temperature=0`}
          >
            Ask
          </Link>
        )}
        <button type="button" onClick={() => setAct('export')}>
          Export
        </button>
        {mayTrain && place !== 'versions' && model.name !== null && (
          <button type="button" onClick={() => setAct('alias')}>
            Move alias
          </button>
        )}
        {mayTrain && (
          <button type="button" className="danger" onClick={() => setAct('delete')}>
            Delete
          </button>
        )}
      </div>
      {act === 'delete' && <Delete model={model} close={close} onDeleted={onDeleted} />}
      {act === 'export' && <ExportModel name={model.id} close={close} />}
      {act === 'alias' && model.name !== null && <MoveAlias name={model.name} close={close} />}
    </>
  )
}

type DeleteProps = { model: Tuned; close: () => void; onDeleted: (() => void) | undefined }

function Delete({ model: { id, label, aliases }, close, onDeleted }: DeleteProps) {
  const remove = async () => {
    await api.DELETE('/v1/models/{name}', { params: { path: { name: id } } })
    onDeleted?.()
    await refreshModels()
  }
  return (
    <Confirm
      title={`Delete ${label}?`}
      action="Delete"
      isDangerous
      act={remove}
      done={`Deleted ${label}`}
      close={close}
    >
      <p>Its files and its evaluation are removed for good; requests for it, also by its id, get 404. The job stays.</p>
      {aliases.length > 0 && <p>No longer answered: {aliases.join(', ')}.</p>}
    </Confirm>
  )
}

function MoveAlias({ name, close }: { name: string; close: () => void }) {
  const [alias, setAlias] = useState('production')
  const [version, setVersion] = useState('')
  const versions = useQuery(versionsQuery(name))
  const { datasetName } = useNames()
  const move = async () => {
    const params = { path: { name, alias } }
    await api.PUT('/v1/models/{name}/aliases/{alias}', { params, body: { version: Number(version) } })
    await refreshModels()
  }
  const now = versions.data?.aliases.find((each) => each.alias === alias)
  return (
    <Confirm
      title={`Move an alias of ${name}`}
      action="Move"
      act={move}
      done={`${name}@${alias} is now version ${version}`}
      close={close}
    >
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
              {number} · job {job} · {datasetName(data)}
            </option>
          ))}
        </select>
      </div>
      {versions.error && <Failure error={versions.error} />}
    </Confirm>
  )
}
