import { UsageError } from './usage-error.ts'
import { pageOptions, pageUsage, queryOf, shortTime, tellNext } from './remote/page.ts'
import { serviceCommand } from './remote/remote-command.ts'
import { table } from './remote/table.ts'

type Webhook = {
  id: string
  url: string
  event_types: string[]
  disabled_at: string | null
  disabled_reason: string | null
}
type Delivery = { id: string; state: string; event: { type: string; timestamp: string; data: { job_id: number } } }

const base = '/v1/webhooks'

export const webhooks = serviceCommand({
  usage: `list
       anneal webhooks create URL [--events LIST]
       anneal webhooks show|disable|enable|rotate|delete ID
       anneal webhooks remove-secret ID SECRET
       anneal webhooks deliveries ID [--limit N] [--after ID]
       anneal webhooks replay ID DELIVERY

  --events LIST  event types with commas between (default: all)
${pageUsage}`,
  options: { ...pageOptions, events: { type: 'string' } },
  takes: { least: 1, most: 3 },
  async run({ client, positionals: [verb = '', target, part], values: { limit, after, events }, print }) {
    if (verb === 'list') {
      const list = await client.get<{ webhooks: Webhook[] }>(base)
      print(list, () => rows(list.webhooks))
      return 0
    }
    if (target === undefined) throw new UsageError(`webhooks ${verb} needs one more argument.`)
    const path = `${base}/${encodeURIComponent(target)}`
    const update = async (change: object, done: string) => {
      print(await client.post(path, change), () => done)
      return 0
    }
    switch (verb) {
      case 'create': {
        const made = await client.post<Webhook & { secret: string }>(base, {
          url: target,
          ...(events !== undefined && { event_types: events.split(',').map((type) => type.trim()) }),
        })
        print(made, () => `${made.id}\n${made.secret}`)
        return 0
      }
      case 'show': {
        const webhook = await client.get<Webhook>(path)
        print(webhook, () => JSON.stringify(webhook, null, 2))
        return 0
      }
      case 'disable':
        return update({ disabled: true }, `Disabled ${target}.`)
      case 'enable':
        return update({ disabled: false }, `Enabled ${target}.`)
      case 'rotate': {
        const made = await client.post<{ secret: string }>(`${path}/rotate`, {})
        print(made, () => made.secret)
        return 0
      }
      case 'delete': {
        const deleted = await client.delete<{ message: string }>(path)
        print(deleted, () => deleted.message)
        return 0
      }
      case 'remove-secret': {
        print(await client.delete(`${path}/secrets/${named(part, 'secret')}`), () => `Removed the secret ${part}.`)
        return 0
      }
      case 'deliveries': {
        const page = await client.get<{ deliveries: Delivery[]; next: string | null }>(
          `${path}/deliveries${queryOf({ limit, after })}`,
        )
        print(page, () => deliveryRows(page.deliveries))
        tellNext(page.next)
        return 0
      }
      case 'replay': {
        const answer = await client.post(`${path}/deliveries/${named(part, 'delivery')}/replay`)
        print(answer, () => `The delivery ${part} is sent again.`)
        return 0
      }
      default:
        throw new UsageError(`webhooks does not take "${verb}".`)
    }
  },
})

function named(id: string | undefined, what: string): string {
  if (id === undefined) throw new UsageError(`Name the ${what}.`)
  return encodeURIComponent(id)
}

const rows = (list: Webhook[]) =>
  table(
    ['WEBHOOK', 'STATE', 'URL', 'EVENTS'],
    list.map((each) => [
      each.id,
      each.disabled_at === null ? 'enabled' : `disabled (${each.disabled_reason ?? ''})`,
      each.url,
      each.event_types.join(',') || 'all',
    ]),
  )

const deliveryRows = (list: Delivery[]) =>
  table(
    ['DELIVERY', 'AT (UTC)', 'STATE', 'EVENT', 'JOB'],
    list.map(({ id, state, event: { type, timestamp, data } }) => [
      id,
      shortTime(timestamp),
      state,
      type,
      String(data.job_id),
    ]),
  )
