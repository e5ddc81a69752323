// Keys, webhooks, usage, the trail and the console.
import type { Extreme, Stock } from './extreme.ts'
import { list, manyNames, ordinaryBody, record, words } from './texts.ts'

const bloated = (body: object): Extreme[] => [
  { what: 'a megabyte', sent: () => ({ body: { ...body, other: words(ordinaryBody) } }) },
  {
    what: '10,000 names',
    sent: () => ({
      body: {
        ...body,
        other: manyNames(9990),
      },
    }),
  },
]
const ofWebhook = ({ webhook: id }: Stock) => ({ webhook_id: id })

export const service: Record<string, Extreme[]> = {
  get_usage: [{ what: '1,000 entries', sent: () => ({ query: 'limit=1000' }) }],
  get_training_usage: [{ what: '3,000 jobs by key', sent: () => ({ query: 'group_by=key' }) }],
  get_limits: [{ what: 'a full account', sent: () => ({}) }],
  import_dataset: bloated({
    ...{ dataset_id: 'd'.repeat(128), version: 1, created_at: '2026-11-01T08:00:00Z', file_name: 'f'.repeat(512) },
    ...{ purpose: null, expires_at: null, is_public: false, columns: null, size: 1, sha256: 'a'.repeat(64) },
  }),
  import_training_job: bloated({
    ...{ installation: '00000000-0000-4000-8000-000000000001', job_id: 1, base_model: 'b'.repeat(256) },
    ...{ record: { size: 1, sha256: 'a'.repeat(64) }, files: [] },
  }),
  create_key: [
    ...bloated({ name: 'n'.repeat(100), scopes: ['read'] }),
    { what: '15,900 scopes', sent: () => ({ body: { name: 'n', scopes: list(15_900, () => 'read') } }) },
    { what: '15,900 wrong scopes', sent: () => ({ body: { name: 'n', scopes: list(15_900, () => 'none') } }) },
    { what: '9,900 unknown fields', sent: () => ({ body: { name: 'n', scopes: ['read'], ...record(9900, () => 1) } }) },
  ],
  list_keys: [{ what: '1,000 keys', sent: () => ({ query: 'limit=1000' }) }],
  rotate_key: [
    {
      what: 'a megabyte',
      sent: ({ key: id }) => ({ params: { key_id: id }, body: { other: words(ordinaryBody) } }),
    },
  ],
  create_webhook: [
    {
      what: 'longest address and 100 events',
      sent: () => ({
        body: {
          url: `https://example.com/${'h'.repeat(2000)}`,
          description: 'd'.repeat(200),
          event_types: list(100, () => 'training_job.created'),
        },
      }),
    },
    ...bloated({ url: 'https://example.com/' }),
  ],
  list_webhooks: [{ what: '20 webhooks', sent: () => ({}) }],
  get_webhook: [{ what: 'a webhook', sent: (stock) => ({ params: ofWebhook(stock) }) }],
  update_webhook: [
    {
      what: '100 events',
      sent: (stock) => ({ params: ofWebhook(stock), body: { event_types: list(100, () => 'training_job.created') } }),
    },
  ],
  rotate_webhook_secret: [
    {
      what: 'a megabyte',
      sent: (stock) => ({ params: ofWebhook(stock), body: { overlap_seconds: 0, other: words(ordinaryBody) } }),
    },
  ],
  list_webhook_deliveries: [
    { what: '1,000 deliveries', sent: (stock) => ({ params: ofWebhook(stock), query: 'limit=1000' }) },
  ],
  list_audit_events: [{ what: '1,000 events', sent: () => ({ query: 'limit=1000' }) }],
  open_console_link: bloated({ link: 'l'.repeat(200) }),
  show_console_link: bloated({ link: 'l'.repeat(200) }),
  // An id that is unknown, because later requests use the key of the stock.
  revoke_key: [
    {
      what: 'an unknown key with its descendants',
      sent: () => ({ params: { key_id: '00000000-0000-4000-8000-000000000000' }, query: 'descendants=true' }),
    },
  ],
}
