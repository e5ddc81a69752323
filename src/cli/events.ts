import { oneLine, pageOptions, pageUsage, queryOf, shortTime, tellNext } from './remote/page.ts'
import { serviceCommand } from './remote/remote-command.ts'
import { table } from './remote/table.ts'

type Event = {
  at: string
  kind: string
  status: string | null
  attempt: number | null
  reason: string | null
  message: string | null
  actor: string
}

export const events = serviceCommand({
  usage: `ID [--limit N] [--after ID] [--follow]

${pageUsage}
  -f, --follow prints events as they come, a line each, until the job has ended`,
  options: { ...pageOptions, follow: { type: 'boolean', short: 'f' } },
  takes: { least: 1, most: 1 },
  async run({ client, positionals: [id = ''], values: { limit, after, follow, json }, print }) {
    if (follow) {
      for await (const { event, data } of client.follow(`/v1/train/jobs/${encodeURIComponent(id)}/stream`))
        if (event === 'event') console.log(json ? data : cellsOf(JSON.parse(data) as Event).join('  '))
      return 0
    }
    const page = await client.get<{ events: Event[]; next: string | null }>(
      `/v1/train/jobs/${encodeURIComponent(id)}/events${queryOf({ limit, after })}`,
    )
    print(page, () => rows(page.events))
    tellNext(page.next)
    return 0
  },
})

const rows = (list: Event[]) => table(['AT (UTC)', 'ATTEMPT', 'WHAT', 'REASON', 'BY', 'MESSAGE'], list.map(cellsOf))

const cellsOf = (event: Event) => [
  shortTime(event.at),
  String(event.attempt ?? ''),
  event.status ?? event.kind,
  event.reason ?? '',
  event.actor,
  oneLine(event.message),
]
