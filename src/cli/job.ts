import { describeJob, exitCodeOf, followJob, readJob } from './remote/job.ts'
import { serviceCommand } from './remote/remote-command.ts'

export const job = serviceCommand({
  usage: `ID [--watch]

  --watch      wait until the job has ended, with a progress bar`,
  options: { watch: { type: 'boolean' } },
  takes: { least: 1, most: 1 },
  async run({ client, positionals: [id = ''], values: { watch, json }, print }) {
    const path = encodeURIComponent(id)
    const seen = watch ? await followJob(client, path, { quiet: json ?? false }) : await readJob(client, path)
    print(seen, () => describeJob(seen))
    return watch ? exitCodeOf(seen) : 0
  },
})
