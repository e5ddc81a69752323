import type { Answer } from './remote/operations.ts'
import { shortTime } from './remote/page.ts'
import { serviceVerb } from './remote/remote-verb.ts'
import { table } from './remote/table.ts'

export const command = serviceVerb({
  options: {
    status: { value: 'STATUS', says: 'only jobs of this status, such as COMPLETED' },
    limit: { value: 'N', says: 'how many, 1 to 1000', default: '20' },
  },
  async run({ client, values: { status, limit }, print }) {
    const list = await client.get('/v1/train/jobs', { query: { limit, status } })
    print(list, () => (list.length === 0 ? 'No training jobs.' : rows(list)))
  },
})

const rows = (list: Answer<'get', '/v1/train/jobs'>) =>
  table(
    ['JOB', 'NAME', 'STATUS', 'ACCEPTED (UTC)', 'DATA SET'],
    list.map((job) => [
      String(job.job_id),
      job.display_name,
      job.status,
      shortTime(job.start_time),
      job.dataset.display_name,
    ]),
  )
