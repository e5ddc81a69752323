import type { Answer } from './remote/operations.ts'
import { pageOptions, shortTime, tellNext } from './remote/page.ts'
import { serviceVerb } from './remote/remote-verb.ts'
import { table } from './remote/table.ts'

type Event = Answer<'get', '/v1/audit'>['events'][number]

export const command = serviceVerb({
  options: pageOptions,
  async run({ client, values: { limit, after }, print }) {
    const page = await client.get('/v1/audit', { query: { limit, after } })
    print(page, () => rows(page.events))
    tellNext(page.next)
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
