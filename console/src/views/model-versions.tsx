import { useNames } from '../api/names.ts'
import type { components } from '../api/types.ts'
import { fixed } from '../domain/format.ts'
import { Chip } from '../ui/chip.tsx'
import { Link } from '../ui/router.tsx'
import { Table } from '../ui/table.tsx'
import { When } from '../ui/text.tsx'
import { DatasetLink } from './dataset-link.tsx'
import { ModelActions } from './model-actions.tsx'

type Versions = components['schemas']['ModelVersions']
type Version = Versions['versions'][number]

type Props = Pick<Versions, 'versions' | 'aliases'> & {
  /** For people. */
  name: string
  /** For requests; null for a model without a custom name. */
  named: string | null
}

export function ModelVersions({ name, named, versions, aliases }: Props) {
  const { datasetName } = useNames()
  const graders = [...new Set(versions.flatMap(({ evaluation }) => Object.keys(evaluation?.scores ?? {})))]
  const aliasesOf = ({ version }: Version) => aliases.filter((each) => each.version === version)
  return (
    <>
      <h2>Versions</h2>
      <Table
        label="Versions"
        rows={versions}
        keyOf={({ model_name: id }) => id}
        columns={[
          {
            name: 'Version',
            isHead: true,
            cell: (version) => (
              <span className="chips" title={version.model_name}>
                {version.version ?? name}
                {aliasesOf(version).map(({ alias }) => (
                  <Chip key={alias} tone="runs">
                    {alias}
                  </Chip>
                ))}
                {version.status === 'PARTIALLY COMPLETED' && <Chip tone="partly">partial</Chip>}
              </span>
            ),
          },
          { name: 'Began from', className: 'text', cell: (version) => <Origin version={version} /> },
          {
            name: 'Data set',
            className: 'text',
            cell: ({ dataset_id: id }) => <DatasetLink id={id} name={datasetName(id)} />,
          },
          { name: 'Job', cell: ({ job_id: id }) => <Link href={`/jobs/${id}`}>{id}</Link> },
          ...graders.map((grader) => ({
            name: grader,
            className: 'number',
            cell: ({ evaluation }: Version) => {
              const score = evaluation?.scores?.[grader]
              return score ? fixed(score.tuned.mean) : '–'
            },
          })),
          { name: 'Created', className: 'wide', cell: ({ created_at: at }) => <When at={at} as="age" /> },
          {
            name: '',
            cell: (version) => (
              <ModelActions
                place="versions"
                model={{
                  id: version.model_name,
                  label: version.version === null ? name : `${name}@${version.version}`,
                  name: named,
                  baseModel: version.base_model,
                  aliases: aliasesOf(version).map(({ alias }) => `${name}@${alias}`),
                }}
              />
            ),
          },
        ]}
      />
    </>
  )
}

function Origin({ version: { parent, base_model: base } }: { version: Version }) {
  const { modelName } = useNames()
  if (parent === null) return base
  const { model_name: id, name, version } = parent
  return (
    <Link href={`/models/${encodeURIComponent(name ?? id)}`} title={id}>
      {name === null || version === null ? modelName(id) : `${name}@${version}`}
    </Link>
  )
}
