// The card of a model: from what it was made, and with which arguments.
import { useQuery } from '@tanstack/react-query'
import { datasetVersionsQuery } from '../api/data.ts'
import { jobQuery } from '../api/jobs.ts'
import type { Model } from '../api/models.ts'
import { useNames } from '../api/names.ts'
import type { components } from '../api/types.ts'
import { readmeOf } from '../domain/model-card.ts'
import { short } from '../domain/format.ts'
import { Card } from '../ui/card.tsx'
import { Facts } from '../ui/facts.tsx'
import { Link } from '../ui/router.tsx'
import { save } from '../ui/save.ts'
import { Answer } from '../ui/states.tsx'
import { DatasetLink } from './dataset-link.tsx'

type Version = components['schemas']['ModelVersions']['versions'][number]

export function ModelCard({ version, label, facts }: { version: Version; label: string; facts: Model | undefined }) {
  const job = useQuery(jobQuery(version.job_id))
  const data = useQuery(datasetVersionsQuery(version.dataset_id)).data?.versions
  const dataset = useNames().datasetName(version.dataset_id)
  const dataVersion = data?.find(({ job_ids: ids }) => ids.includes(version.job_id))?.version ?? null
  const download = () => {
    if (!job.data) return
    const text = readmeOf({
      name: label,
      id: version.model_name,
      base: version.base_model,
      license: facts?.license ?? null,
      dataset,
      datasetVersion: dataVersion,
      made: version.created_at,
      args: job.data.finetune_args,
      scores: version.evaluation?.scores ?? null,
    })
    save('README.md', new Blob([text], { type: 'text/markdown' }))
  }
  return (
    <Card
      title="Model card"
      actions={
        <button type="button" className="small" disabled={!job.data} onClick={download}>
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
    </Card>
  )
}
