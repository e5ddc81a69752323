import { describeJob, exitCodeOf, followJob } from './remote/job.ts'
import { serviceVerb } from './remote/remote-verb.ts'

export const command = serviceVerb({
  takes: { ID: '' },
  options: { watch: { says: 'wait until the job has ended, with a progress bar' } },
  async run({ client, args: [id = ''], values: { watch }, isJson, print }) {
    const accepted = await client.post('/v1/train/jobs/:job_id/resume', { params: { job_id: id } })
    if (!watch) {
      print(accepted, () => `Training job ${accepted.job_id} is ${accepted.status}.`)
      return 0
    }
    const job = await followJob(client, id, { quiet: isJson })
    print(job, () => describeJob(job))
    return exitCodeOf(job)
  },
})
