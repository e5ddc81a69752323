import { pageOptions, pageUsage, queryOf, shortTime, tellNext } from './remote/page.ts'
import { serviceCommand } from './remote/remote-command.ts'
import { table } from './remote/table.ts'

type Event = { at: string; key_id: string | null; action: string; target: string | null; address: string | null }

export const audit = serviceCommand({
  usage: `[--limit N] [--after ID]

The key needs the scope admin.

${pageUsage}`,
  options: pageOptions,
  takes: { least: 0, most: 0 },
  async run({ client, values: { limit, after }, print }) {
    const page = await client.get<{ events: Event[]; next: string | null }>(`/v1/audit${queryOf({ limit, after })}`)
    print(page, () => rows(page.events))
    tellNext(page.next)
    return 0
  },
})

const rows = (list: Event[]) =>
  table(
    ['AT (UTC)', 'KEY', 'ACTION', 'TARGET', 'FROM'],
    list.map((event) => [
      shortTime(event.at),
      event.key_id ?? '',
      event.action,
      event.target ?? '',
      event.address ?? '',
    ]),
  )
