import { describeJob, exitCodeOf, followJob, readJob } from './remote/job.ts'
import { serviceVerb } from './remote/remote-verb.ts'

export const command = serviceVerb({
  takes: { ID: '' },
  options: { watch: { says: 'wait until the job has ended, with a progress bar' } },
  async run({ client, args: [id = ''], values: { watch }, isJson, print }) {
    const seen = watch ? await followJob(client, id, { quiet: isJson }) : await readJob(client, id)
    print(seen, () => describeJob(seen))
    return watch ? exitCodeOf(seen) : 0
  },
})
