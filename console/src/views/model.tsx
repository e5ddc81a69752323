// One name of tuned models: how good it is, how to use it, and its versions with what each was made from.
import { useQuery } from '@tanstack/react-query'
import { modelsQuery, versionsQuery, type Model } from '../api/models.ts'
import { useNames } from '../api/names.ts'
import type { components } from '../api/types.ts'
import { isAskedAsChat } from '../domain/chat.ts'
import { count } from '../domain/format.ts'
import { lineageOf, type Ancestor } from '../domain/lineage.ts'
import { readSetup } from '../domain/playground.ts'
import { programsOf } from '../domain/use-model.ts'
import { Card } from '../ui/card.tsx'
import { Chip } from '../ui/chip.tsx'
import { Figures } from '../ui/figures.tsx'
import { GraderMeaning } from '../ui/grader-meaning.tsx'
import { usePageTitle } from '../ui/page-title.ts'
import { Programs } from '../ui/programs.tsx'
import { Link, useLocation } from '../ui/router.tsx'
import { TunedAndBase } from '../ui/score-bars.tsx'
import { Answer, Empty } from '../ui/states.tsx'
import { When } from '../ui/text.tsx'
import { DatasetLink } from './dataset-link.tsx'
import { ModelActions } from './model-actions.tsx'
import { ModelCard } from './model-card.tsx'
import { ModelVersions } from './model-versions.tsx'

type Versions = components['schemas']['ModelVersions']

const mostCompared = 8

export function ModelView({ name }: { name: string }) {
  const versions = useQuery(versionsQuery(name))
  const models = useQuery(modelsQuery)
  const { modelName } = useNames()
  const label = versions.data?.name ?? modelName(name)
  usePageTitle(label)
  return (
    <>
      <p className="crumbs">
        <Link href="/models">Models</Link> / {label}
      </p>
      {!versions.data && <h1>{label}</h1>}
      <Answer query={versions} what="the versions">
        {(known) => <ModelPage name={label} known={known} models={models.data ?? []} />}
      </Answer>
    </>
  )
}

/** The version that the name leads to. */
const mainOf = ({ versions }: Versions) => versions.find(({ status }) => status === 'COMPLETED') ?? versions[0]

function ModelPage({ name, known, models }: { name: string; known: Versions; models: Model[] }) {
  const { versions, aliases } = known
  const main = mainOf(known)
  const [, navigate] = useLocation()
  const { datasetName } = useNames()
  const facts = models.find(({ id }) => id === main?.model_name)
  if (!main)
    return (
      <>
        <h1>{name}</h1>
        <Empty>
          <p>Every version of this name was deleted. The next job with this name makes a new one.</p>
        </Empty>
      </>
    )
  const label = main.version === null ? name : `${name}@${main.version}`
  const of = (version: number | null) => aliases.filter((each) => each.version === version)
  return (
    <>
      <div className="title">
        <h1 title={main.model_name}>
          {name} <AliasChips aliases={of(main.version)} />
        </h1>
        <ModelActions
          place="title"
          model={{
            id: main.model_name,
            label,
            name: known.name,
            baseModel: main.base_model,
            aliases: of(main.version).map(({ alias }) => `${name}@${alias}`),
          }}
          onDeleted={() => versions.length === 1 && navigate('/models')}
        />
      </div>
      <Figures
        figures={[
          [main.version === null ? 'Versions' : 'Newest version', main.version ?? versions.length],
          ['Base', main.base_model],
          ['Data set', <DatasetLink id={main.dataset_id} name={datasetName(main.dataset_id)} />],
          ['Learned', facts?.learned_form ?? '–'],
          ['Context', facts?.context_length ? `${count(facts.context_length)} tokens` : '–'],
          ['Created', <When at={main.created_at} as="age" />],
        ]}
      />
      <div className="cards-row two">
        <Card
          title="Scores"
          actions={
            versions.length > 1 && (
              <Link className="button small" href={`/compare?jobs=${newestJobs(versions)}`}>
                Compare {versions.length > mostCompared ? `the newest ${mostCompared}` : 'the versions'}
              </Link>
            )
          }
        >
          <Scores evaluation={main.evaluation} />
        </Card>
        <Card title="Use it">
          <Programs programs={usesOf(aliasedName(name, known, main.model_name), facts)} />
        </Card>
      </div>
      <ModelVersions name={name} named={known.name} versions={versions} aliases={aliases} />
      <div className="cards-row two">
        <Card title="Lineage">
          <Tree nodes={lineageOf(name, versions)} own={new Set(versions.map(({ model_name: id }) => id))} />
        </Card>
        <ModelCard version={main} facts={facts} />
      </div>
    </>
  )
}

const newestJobs = (versions: Versions['versions']) =>
  versions
    .slice(0, mostCompared)
    .map(({ job_id: id }) => id)
    .join()

/** What a program should name: an alias if there is one, so that a later version needs no change of the program. */
const aliasedName = (name: string, known: Versions, id: string) =>
  known.name === null ? id : known.aliases[0] ? `${name}@${known.aliases[0].alias}` : name

const usesOf = (model: string, facts: Model | undefined) =>
  programsOf(model, {
    isChat: isAskedAsChat(readSetup(''), facts ?? {}),
    system: facts?.system_message ?? '',
    origin: location.origin,
  })

const AliasChips = ({ aliases }: { aliases: readonly Versions['aliases'][number][] }) => (
  <>
    {aliases.map(({ alias, moved_at: moved }) => (
      <Chip key={alias} tone="runs" title={`since ${moved}`}>
        {alias}
      </Chip>
    ))}
  </>
)

/** How each grader scored the tuned model, beside its base. */
function Scores({ evaluation }: Pick<Versions['versions'][number], 'evaluation'>) {
  const graders = Object.entries(evaluation?.scores ?? {}).flatMap(([name, each]) => (each ? [{ name, ...each }] : []))
  if (graders.length === 0)
    return (
      <p className="quiet">
        {evaluation === null
          ? 'This version was not evaluated. A job with rows to evaluate scores its model and the base.'
          : 'The scores appear when they are computed.'}
      </p>
    )
  return (
    <>
      {graders.map(({ name, tuned, base }) => (
        <div key={name} className="grader">
          <h3>{name}</h3>
          <GraderMeaning grader={name} />
          <TunedAndBase tuned={tuned} base={base} />
        </div>
      ))}
      <p className="quiet small">
        The mean over {count(evaluation?.rows ?? 0)} rows; a line shows where it lies 95 % of the time.
      </p>
    </>
  )
}

function Tree({ nodes, own }: { nodes: readonly Ancestor[]; own: ReadonlySet<string> }) {
  const { modelName } = useNames()
  return (
    <ul className="tree">
      {nodes.map(({ id, label, name, children }) => (
        <li key={id}>
          {name === null ? (
            label
          ) : own.has(id) ? (
            <strong>{label}</strong>
          ) : (
            <Link href={`/models/${encodeURIComponent(name)}`}>{modelName(label)}</Link>
          )}
          {children.length > 0 && <Tree nodes={children} own={own} />}
        </li>
      ))}
    </ul>
  )
}
