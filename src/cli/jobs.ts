import { serviceCommand } from './remote/remote-command.ts'
import type { Job } from './remote/job.ts'
import { table } from './remote/table.ts'

type Summary = Pick<Job, 'job_id' | 'status' | 'start_time' | 'dataset_id' | 'model_name'>

export const jobs = serviceCommand({
  usage: `[--status STATUS] [--limit N]

  --status S   only jobs of this status, such as COMPLETED
  --limit N    how many, 1 to 1000 (default: 20)`,
  options: { status: { type: 'string' }, limit: { type: 'string', default: '20' } },
  takes: { least: 0, most: 0 },
  async run({ client, values: { status, limit }, print }) {
    const query = new URLSearchParams({ limit, ...(status !== undefined && { status }) })
    const list = await client.get<Summary[]>(`/v1/train/jobs?${query.toString()}`)
    print(list, () => (list.length === 0 ? 'No training jobs.' : rows(list)))
    return 0
  },
})

const rows = (list: Summary[]) =>
  table(
    ['JOB', 'STATUS', 'ACCEPTED (UTC)', 'DATA SET', 'MODEL'],
    list.map((job) => [
      String(job.job_id),
      job.status,
      job.start_time.slice(0, 19).replace('T', ' '),
      job.dataset_id,
      job.model_name ?? '',
    ]),
  )
