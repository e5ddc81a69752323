import type { Answer } from './remote/operations.ts'
import { oneLine, pageOptions, shortTime, tellNext } from './remote/page.ts'
import { serviceVerb } from './remote/remote-verb.ts'
import { table } from './remote/table.ts'

type Attempt = Answer<'get', '/v1/train/jobs/:job_id/attempts'>['attempts'][number]

export const command = serviceVerb({
  takes: { ID: '' },
  options: pageOptions,
  async run({ client, args: [id = ''], values: { limit, after }, print }) {
    const page = await client.get('/v1/train/jobs/:job_id/attempts', {
      params: { job_id: id },
      query: { limit, after },
    })
    print(page, () => rows(page.attempts))
    tellNext(page.next)
  },
})

const rows = (list: readonly Attempt[]) =>
  table(
    ['ATTEMPT', 'BEGAN (UTC)', 'ENDED', 'STEPS', 'SECONDS', 'LOST', 'ENDED BY', 'MESSAGE'],
    list.map((each) => [
      String(each.attempt),
      shortTime(each.created_at),
      shortTime(each.ended_at),
      each.last_step === null ? '' : `${each.from_step} to ${each.last_step}`,
      each.training_seconds.allocated.toFixed(0),
      each.training_seconds.lost.toFixed(0),
      each.cause ?? each.phase ?? 'not started',
      oneLine(each.message),
    ]),
  )
