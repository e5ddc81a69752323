import type { Answer } from './remote/operations.ts'
import { pageOptions, tellNext } from './remote/page.ts'
import { serviceVerb } from './remote/remote-verb.ts'
import { usageTable } from './remote/usage-table.ts'

type Page = Answer<'get', '/v1/usage'>

export const command = serviceVerb({
  options: {
    from: { value: 'DAY', says: 'the first day (UTC), such as 2027-01-01 (default: 29 days before the last)' },
    to: { value: 'DAY', says: 'the last day, included (default: today)' },
    by: { value: 'LIST', says: 'day, key and model, or some of them, with commas between (default: all)' },
    ...pageOptions,
  },
  async run({ client, values: { from, to, by, limit, after }, print }) {
    const page = await client.get('/v1/usage', { query: { from, to, group_by: by, limit, after } })
    print(page, () => rows(page))
    tellNext(page.next)
  },
})

const rows = (page: Page) =>
  usageTable(page, {
    DAY: ({ day }) => day,
    KEY: (line) => line.key_name ?? line.key_id,
    MODEL: (line) => line.display_name ?? line.model_name,
  })
