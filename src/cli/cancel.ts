import { UsageError } from './usage-error.ts'
import { followJob } from './remote/job.ts'
import { serviceCommand } from './remote/remote-command.ts'

export const cancel = serviceCommand({
  usage: `ID [--wait] | --all

  --wait       wait until all of the job's resources are released
  --all        every open job of the account`,
  options: { wait: { type: 'boolean' }, all: { type: 'boolean' } },
  takes: { least: 0, most: 1 },
  async run({ client, positionals: [id], values: { all = false, wait = false }, print }) {
    if (all === (id !== undefined)) throw new UsageError('Give the id of a job, or --all.')
    const path = id === undefined ? '/v1/train/jobs/cancel' : `/v1/train/jobs/${encodeURIComponent(id)}/cancel`
    const answer = await client.post<{ message: string }>(path)
    if (wait && id !== undefined) await followJob(client, encodeURIComponent(id), { quiet: true })
    print(answer, () => answer.message)
    return 0
  },
})
