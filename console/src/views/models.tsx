// The models that can be asked: the tuned ones of the account, and those of the catalogue.
import { useQuery } from '@tanstack/react-query'
import { useJobs } from '../api/job-list.ts'
import { modelsQuery, type Model } from '../api/models.ts'
import { useMay } from '../api/session.ts'
import { count, parameters, short } from '../domain/format.ts'
import { Chip } from '../ui/chip.tsx'
import { usePageTitle } from '../ui/page-title.ts'
import { Link } from '../ui/router.tsx'
import { Answer, Empty } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { When } from '../ui/text.tsx'
import { ModelActions } from './model-actions.tsx'

export function ModelsView() {
  usePageTitle('Models')
  const models = useQuery(modelsQuery)
  return (
    <>
      <h1>Models</h1>
      <Answer query={models} what="the models">
        {(all) => (
          <>
            <h2>Tuned</h2>
            <Tuned models={all.filter(({ owned_by: owner }) => owner === 'account')} />
            <h2>Catalogue</h2>
            <Catalogue models={all.filter(({ owned_by: owner }) => owner === 'catalogue')} />
          </>
        )}
      </Answer>
    </>
  )
}

const isVersion = (alias: string) => /@\d+$/.test(alias)

function Tuned({ models }: { models: Model[] }) {
  const jobs = useJobs()
  const mayTrain = useMay('training')
  /** The name that the versions of a model share; null without one. */
  const nameOf = ({ job_id: jobId, aliases }: Model) =>
    aliases[0]?.split('@')[0] || jobs.data?.find((job) => job.job_id === jobId)?.requested_name || null
  const labelOf = (model: Model) =>
    model.display_name ?? model.aliases.find(isVersion) ?? nameOf(model) ?? short(model.id)
  if (models.length === 0)
    return (
      <Empty>
        <p>No tuned model yet. A model appears here when its job has saved it.</p>
        {mayTrain && (
          <Link href="/new" className="button">
            New job
          </Link>
        )}
      </Empty>
    )
  return (
    <Table
      label="Tuned models"
      rows={models}
      keyOf={({ id }) => id}
      columns={[
        {
          name: 'Model',
          isHead: true,
          cell: (model) => (
            <span className="chips">
              <Link
                href={`/models/${encodeURIComponent((model.aliases.length > 0 && nameOf(model)) || model.id)}`}
                title={model.id}
              >
                {labelOf(model)}
              </Link>
              {model.aliases
                .filter((alias) => !isVersion(alias))
                .map((alias) => (
                  <Chip key={alias} tone="runs">
                    {alias.split('@')[1] ?? alias}
                  </Chip>
                ))}
            </span>
          ),
        },
        { name: 'Base', className: 'medium', cell: ({ base_model: base }) => base },
        { name: 'Learned', className: 'wide', cell: ({ learned_form: form }) => form ?? '–' },
        {
          name: 'Job',
          className: 'medium',
          cell: ({ job_id: id }) => id !== null && <Link href={`/jobs/${id}`}>{id}</Link>,
        },
        {
          name: 'Created',
          className: 'wide',
          cell: ({ created }) => <When at={new Date(created * 1000)} as="age" />,
        },
        {
          name: '',
          cell: (model) => (
            <ModelActions
              place="models"
              model={{
                id: model.id,
                label: labelOf(model),
                name: model.aliases.length > 0 ? nameOf(model) : null,
                baseModel: model.base_model,
                aliases: model.aliases,
              }}
            />
          ),
        },
      ]}
    />
  )
}

function Catalogue({ models }: { models: Model[] }) {
  const [mayAsk, mayTrain] = [useMay('inference'), useMay('training')]
  return (
    <Table
      label="Catalogue"
      rows={models}
      keyOf={({ id }) => id}
      columns={[
        {
          name: 'Model',
          isHead: true,
          className: 'text',
          cell: ({ id, starting }) => (
            <>
              {id} {starting !== null && <span className="quiet small">{starting}</span>}
            </>
          ),
        },
        { name: 'Task', cell: ({ task }) => task },
        {
          name: 'Context',
          className: 'number medium',
          cell: ({ context_length: context }) => (context === null ? '–' : `${count(context)} tokens`),
        },
        {
          name: 'Chat',
          className: 'medium',
          cell: ({ has_chat_template: hasTemplate }) =>
            hasTemplate === undefined ? '–' : hasTemplate ? 'with its template' : 'no',
        },
        {
          name: 'Parameters',
          className: 'number wide',
          cell: ({ parameter_count: number }) => (number === null ? '–' : parameters(number)),
        },
        { name: 'Licence', className: 'wide', cell: ({ license }) => license ?? '–' },
        { name: 'Other names', className: 'wide text', cell: ({ aliases }) => aliases.join(', ') },
        {
          name: '',
          cell: ({ id, task }) =>
            task === 'completion' && (
              <div className="buttons">
                {mayAsk && (
                  <Link className="button" href={`/playground?models=${encodeURIComponent(id)}`}>
                    Ask
                  </Link>
                )}
                {mayTrain && (
                  <Link className="button" href={`/new?model=${encodeURIComponent(id)}`}>
                    Train
                  </Link>
                )}
              </div>
            ),
        },
      ]}
    />
  )
}
