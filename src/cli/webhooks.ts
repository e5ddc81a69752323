import type { Command } from './command.ts'
import type { Answer } from './remote/operations.ts'
import { pageOptions, shortTime, tellNext } from './remote/page.ts'
import { serviceVerb } from './remote/remote-verb.ts'
import { table } from './remote/table.ts'

const base = '/v1/webhooks'
type Webhook = Answer<'get', typeof base>['webhooks'][number]
type Delivery = Answer<'get', `${typeof base}/:webhook_id/deliveries`>['deliveries'][number]

const setDisabled = (disabled: boolean) =>
  serviceVerb({
    takes: { ID: '' },
    async run({ client, args: [id = ''], print }) {
      const updated = await client.post(`${base}/:webhook_id`, { params: { webhook_id: id }, body: { disabled } })
      print(updated, () => `${disabled ? 'Disabled' : 'Enabled'} ${id}.`)
    },
  })

export const command: Command = {
  list: serviceVerb({
    async run({ client, print }) {
      const list = await client.get(base)
      print(list, () => rows(list.webhooks))
    },
  }),
  create: serviceVerb({
    takes: { URL: '' },
    options: { events: { value: 'LIST', says: 'event types with commas between (default: all)' } },
    async run({ client, args: [url], values: { events }, print }) {
      const types = events?.split(',').map((type) => type.trim())
      const made = await client.post(base, { body: { url, event_types: types } })
      print(made, () => `${made.id}\n${made.secret}`)
    },
  }),
  show: serviceVerb({
    takes: { ID: '' },
    async run({ client, args: [id = ''], print }) {
      const webhook = await client.get(`${base}/:webhook_id`, { params: { webhook_id: id } })
      print(webhook, () => JSON.stringify(webhook, null, 2))
    },
  }),
  disable: setDisabled(true),
  enable: setDisabled(false),
  rotate: serviceVerb({
    takes: { ID: '' },
    async run({ client, args: [id = ''], print }) {
      const made = await client.post(`${base}/:webhook_id/rotate`, { params: { webhook_id: id }, body: {} })
      print(made, () => made.secret)
    },
  }),
  delete: serviceVerb({
    takes: { ID: '' },
    async run({ client, args: [id = ''], print }) {
      const deleted = await client.delete(`${base}/:webhook_id`, { params: { webhook_id: id } })
      print(deleted, () => deleted.message)
    },
  }),
  'remove-secret': serviceVerb({
    takes: { ID: '', SECRET: '' },
    async run({ client, args: [id = '', secret = ''], print }) {
      const params = { webhook_id: id, secret_id: secret }
      const webhook = await client.delete(`${base}/:webhook_id/secrets/:secret_id`, { params })
      print(webhook, () => `Removed the secret ${secret}.`)
    },
  }),
  deliveries: serviceVerb({
    takes: { ID: '' },
    options: pageOptions,
    async run({ client, args: [id = ''], values: { limit, after }, print }) {
      const request = { params: { webhook_id: id }, query: { limit, after } }
      const page = await client.get(`${base}/:webhook_id/deliveries`, request)
      print(page, () => deliveryRows(page.deliveries))
      tellNext(page.next)
    },
  }),
  replay: serviceVerb({
    takes: { ID: '', DELIVERY: '' },
    async run({ client, args: [id = '', delivery = ''], print }) {
      const params = { webhook_id: id, delivery_id: delivery }
      const answer = await client.post(`${base}/:webhook_id/deliveries/:delivery_id/replay`, { params })
      print(answer, () => `The delivery ${delivery} is sent again.`)
    },
  }),
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
