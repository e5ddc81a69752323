import { followJob } from './remote/job.ts'
import { serviceVerb } from './remote/remote-verb.ts'
import { UsageError } from './usage-error.ts'

export const command = serviceVerb({
  takes: { '[ID]': '' },
  options: {
    wait: { says: "wait until all of the job's resources are released" },
    all: { says: 'every open job of the account' },
  },
  async run({ client, args: [id], values: { all = false, wait = false }, print }) {
    if (all === (id !== undefined)) throw new UsageError('Give the id of a job, or --all.')
    const answer =
      id === undefined
        ? await client.post('/v1/train/jobs/cancel')
        : await client.post('/v1/train/jobs/:job_id/cancel', { params: { job_id: id } })
    if (wait && id !== undefined) await followJob(client, id, { quiet: true })
    print(answer, () => answer.message)
  },
})
