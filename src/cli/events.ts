import { eachChange } from './remote/each-change.ts'
import { oneLine, pageOptions, pageUsage, queryOf, shortTime, tellNext } from './remote/page.ts'
import { serviceCommand } from './remote/remote-command.ts'
import { table } from './remote/table.ts'

type Event = {
  id: string
  at: string
  kind: string
  status: string | null
  attempt: number | null
  reason: string | null
  message: string | null
  actor: string
}
type Page = { events: Event[]; next: string | null }

export const events = serviceCommand({
  usage: `ID [--limit N] [--after ID] [--follow]

${pageUsage}
  -f, --follow prints events as they come, a line each, until the job has ended`,
  options: { ...pageOptions, follow: { type: 'boolean', short: 'f' } },
  takes: { least: 1, most: 1 },
  async run({ client, positionals: [id = ''], values: { limit, after, follow, json }, print }) {
    const path = `/v1/train/jobs/${encodeURIComponent(id)}/events`
    if (follow) {
      let last = after
      await eachChange(client, encodeURIComponent(id), async () => {
        for (let more = true; more;) {
          const { events: found, next } = await client.get<Page>(path + queryOf({ after: last }))
          for (const event of found) console.log(json ? JSON.stringify(event) : cellsOf(event).join('  '))
          last = found.at(-1)?.id ?? last
          more = next !== null
        }
      })
      return 0
    }
    const page = await client.get<Page>(path + queryOf({ limit, after }))
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
