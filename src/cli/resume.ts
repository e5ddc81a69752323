import { describeJob, exitCodeOf, followJob } from './remote/job.ts'
import { serviceCommand } from './remote/remote-command.ts'

export const resume = serviceCommand({
  usage: `ID [--watch]

  --watch      wait until the job has ended, with a progress bar`,
  options: { watch: { type: 'boolean' } },
  takes: { least: 1, most: 1 },
  async run({ client, positionals: [id = ''], values: { watch, json }, print }) {
    const path = encodeURIComponent(id)
    const accepted = await client.post<{ job_id: number; status: string }>(`/v1/train/jobs/${path}/resume`)
    if (!watch) {
      print(accepted, () => `Training job ${accepted.job_id} is ${accepted.status}.`)
      return 0
    }
    const job = await followJob(client, path, { quiet: json ?? false })
    print(job, () => describeJob(job))
    return exitCodeOf(job)
  },
})
