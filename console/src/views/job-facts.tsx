import { useQuery } from '@tanstack/react-query'
import { reportQuery } from '../api/data.ts'
import type { Job } from '../api/job.ts'
import { count } from '../domain/format.ts'
import { Facts } from '../ui/facts.tsx'
import { Link } from '../ui/router.tsx'
import { Answer, Empty } from '../ui/states.tsx'
import { Code } from '../ui/text.tsx'
import { DatasetLink, DatasetLinks } from './dataset-link.tsx'
import { DatasetReport } from './dataset-report.tsx'

const ModelLink = ({ id, name }: { id: string; name: string }) => (
  <Link href={`/models/${encodeURIComponent(id)}`} title={id}>
    {name}
  </Link>
)

type Counted = NonNullable<Job['dataset']['counted']>

/** The rows that are cut or left out are told by events, too. */
const learnedText = ({ rows, tokens, learned, complete }: Counted) =>
  `${count(learned)} of ${count(tokens)} tokens of ${complete ? 'all' : 'the visited'} ${count(rows)} training rows`

export function JobFacts({ job }: { job: Job }) {
  const report = useQuery(reportQuery(job.dataset_id))
  const defaults = new Set(job.finetune_args_defaults ?? [])
  const args = Object.entries(job.finetune_args)
  const { gpus, nodes } = job.gpu_config
  const facts: (readonly [string, React.ReactNode])[] = [
    ['Base', job.base_model],
    job.datasets
      ? ['Data sets', <DatasetLinks sets={job.datasets} />]
      : ['Data set', <DatasetLink id={job.dataset_id} name={job.dataset.display_name} />],
    ...(job.dataset.rows === null ? [] : [['Rows', count(job.dataset.rows)] as const]),
    ...(job.dataset.counted ? [['Learned', learnedText(job.dataset.counted)] as const] : []),
    ['GPUs', gpus === 0 ? 'none: on the processor' : `${gpus} on ${nodes} node(s)`],
    ['Model', job.model_name ? <ModelLink id={job.model_name} name={job.display_name} /> : 'not saved yet'],
    ...(job.model_name ? [['Id of the model', <code>{job.model_name}</code>] as const] : []),
    ['Sent by', <span title={job.sent_by.person?.subject}>{job.sent_by.name ?? job.sent_by.key_id}</span>],
    ['Resumes', `${job.resume_count} of at most ${job.resume_limit}`],
    ...job.integrations.map(({ tracking_uri }) => ['MLflow', tracking_uri] as const),
    ...Object.entries(job.metadata),
  ]
  return (
    <>
      <Facts facts={facts} />
      {args.length > 0 && (
        <>
          <h2>Arguments</h2>
          <dl className="facts">
            {args.map(([name, value]) => (
              <div key={name} className={defaults.has(name) ? 'quiet' : undefined}>
                <dt>{name}</dt>
                <dd>
                  {JSON.stringify(value)}
                  {defaults.has(name) && ' (default)'}
                </dd>
              </div>
            ))}
          </dl>
        </>
      )}
      <h2>Data, as it is now</h2>
      <Answer query={report} what="the check of the rows">
        {(known) => (known ? <DatasetReport report={known} /> : <Empty>The data set was deleted.</Empty>)}
      </Answer>
      <h2>Follow it from a terminal</h2>
      <Code
        text={`npm run anneal -- job ${job.job_id} --watch\ncurl ${location.origin}/v1/train/jobs/${job.job_id} -H "Authorization: Bearer $KEY"`}
      />
    </>
  )
}
