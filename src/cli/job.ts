import { describeJob, exitCodeOf, followJob, readJob } from './remote/job.ts'
import { serviceVerb } from './remote/remote-verb.ts'

export const command = serviceVerb({
  takes: { ID: '' },
  options: {
    watch: { says: 'wait until the job has ended, with a progress bar' },
    'skipped-rows': { says: 'print the rows that were left out as JSON Lines, with the reason of each' },
  },
  async run({ client, args: [id = ''], values: { watch, 'skipped-rows': isOfSkipped }, isJson, print }) {
    if (isOfSkipped) {
      const rows = client.read('/v1/train/jobs/:job_id/skipped-rows', { params: { job_id: id } })
      for await (const text of rows) process.stdout.write(text)
      return 0
    }
    const seen = watch ? await followJob(client, id, { quiet: isJson }) : await readJob(client, id)
    print(seen, () => describeJob(seen))
    return watch ? exitCodeOf(seen) : 0
  },
})
