import { eachChange } from './remote/each-change.ts'
import type { Answer } from './remote/operations.ts'
import { oneLine, pageOptions, shortTime, tellNext } from './remote/page.ts'
import { serviceVerb } from './remote/remote-verb.ts'
import { table } from './remote/table.ts'

const path = '/v1/train/jobs/:job_id/events'
type Event = Answer<'get', typeof path>['events'][number]

export const command = serviceVerb({
  takes: { ID: '' },
  options: {
    ...pageOptions,
    follow: { short: 'f', says: 'prints events as they come, a line each, until the job has ended' },
  },
  async run({ client, args: [id = ''], values: { limit, after, follow }, isJson, print }) {
    const params = { job_id: id }
    if (follow) {
      let last = after
      await eachChange(client, id, async () => {
        for (let more = true; more;) {
          const { events: found, next } = await client.get(path, { params, query: { after: last } })
          for (const event of found) console.log(isJson ? JSON.stringify(event) : cellsOf(event).join('  '))
          last = found.at(-1)?.id ?? last
          more = next !== null
        }
      })
      return 0
    }
    const page = await client.get(path, { params, query: { limit, after } })
    print(page, () => rows(page.events))
    tellNext(page.next)
  },
})

const rows = (list: Event[]) => table(['AT (UTC)', 'ATTEMPT', 'WHAT', 'REASON', 'BY', 'MESSAGE'], list.map(cellsOf))

const cellsOf = (event: Event) => [
  shortTime(event.at),
  String(event.attempt ?? ''),
  event.status ?? event.kind,
  event.reason ?? '',
  event.actor_name ?? event.actor,
  oneLine(event.message),
]
