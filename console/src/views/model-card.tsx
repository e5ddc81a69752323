// The card of a model: from what it was made, and with which arguments. The text is the README.md of its exports.
import { useQuery } from '@tanstack/react-query'
import { datasetVersionsQuery } from '../api/data.ts'
import { jobQuery } from '../api/jobs.ts'
import { cardQuery, type Model } from '../api/models.ts'
import { useNames } from '../api/names.ts'
import type { components } from '../api/types.ts'
import { short } from '../domain/format.ts'
import { Card } from '../ui/card.tsx'
import { Facts } from '../ui/facts.tsx'
import { Link } from '../ui/router.tsx'
import { save } from '../ui/save.ts'
import { Answer } from '../ui/states.tsx'
import { Code } from '../ui/text.tsx'
import { DatasetLink } from './dataset-link.tsx'

type Version = components['schemas']['ModelVersions']['versions'][number]

export function ModelCard({ version, facts }: { version: Version; facts: Model | undefined }) {
  const card = useQuery(cardQuery(version.model_name))
  const job = useQuery(jobQuery(version.job_id))
  const data = useQuery(datasetVersionsQuery(version.dataset_id)).data?.versions
  const dataset = useNames().datasetName(version.dataset_id)
  const dataVersion = data?.find(({ job_ids: ids }) => ids.includes(version.job_id))?.version ?? null
  return (
    <Card
      title="Model card"
      actions={
        <button
          type="button"
          className="small"
          disabled={!card.data}
          onClick={() => card.data && save('README.md', new Blob([card.data.text], { type: 'text/markdown' }))}
        >
          Download as README
        </button>
      }
    >
      <Answer query={job} what="the job">
        {({ job_id: id, dataset: { rows }, finetune_args: args, finetune_args_defaults: defaults }) => {
          const usual = new Set(defaults ?? [])
          const given = Object.entries(args).filter(([name, value]) => !usual.has(name) && value !== null)
          return (
            <Facts
              facts={[
                ['Id', <code title={version.model_name}>{short(version.model_name)}</code>],
                ['Job', <Link href={`/jobs/${id}`}>{id}</Link>],
                ['Licence of the base', facts?.license ?? 'not stated'],
                [
                  'Data set',
                  <>
                    <DatasetLink id={version.dataset_id} name={dataset} />
                    {dataVersion !== null && `, version ${dataVersion}`}
                  </>,
                ],
                ['Rows', rows === null ? '–' : String(rows)],
                ...given.map(([name, value]) => [name, JSON.stringify(value)] as const),
              ]}
            />
          )
        }}
      </Answer>
      <details>
        <summary>The text that exports carry as README.md</summary>
        <Answer query={card} what="the card">
          {({ text }) => <Code text={text} />}
        </Answer>
      </details>
    </Card>
  )
}
