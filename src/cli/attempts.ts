import { oneLine, pageOptions, pageUsage, queryOf, shortTime, tellNext } from './remote/page.ts'
import { serviceCommand } from './remote/remote-command.ts'
import { table } from './remote/table.ts'

type Attempt = {
  attempt: number
  phase: string | null
  cause: string | null
  message: string | null
  from_step: number
  last_step: number | null
  created_at: string
  ended_at: string | null
  training_seconds: { allocated: number; lost: number }
}

export const attempts = serviceCommand({
  usage: `ID [--limit N] [--after NUMBER]\n\n${pageUsage}`,
  options: pageOptions,
  takes: { least: 1, most: 1 },
  async run({ client, positionals: [id = ''], values: { limit, after }, print }) {
    const page = await client.get<{ attempts: Attempt[]; next: number | null }>(
      `/v1/train/jobs/${encodeURIComponent(id)}/attempts${queryOf({ limit, after })}`,
    )
    print(page, () => rows(page.attempts))
    tellNext(page.next)
    return 0
  },
})

const rows = (list: Attempt[]) =>
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
