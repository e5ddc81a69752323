import { costCell, costHead } from './remote/cost-column.ts'
import type { Answer } from './remote/operations.ts'
import { pageOptions, tellNext } from './remote/page.ts'
import { serviceVerb } from './remote/remote-verb.ts'
import { table } from './remote/table.ts'

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

const rows = ({ usage, currency }: Page) =>
  table(
    ['DAY', 'KEY', 'MODEL', 'PROMPTS', 'TOKENS IN', 'TOKENS OUT', 'TRAINING S', 'GPU S', ...costHead(currency)],
    usage.map((each) => [
      each.day ?? '',
      each.key_name ?? each.key_id ?? '',
      each.display_name ?? each.model_name ?? '',
      String(each.prompts),
      String(each.prompt_tokens),
      String(each.completion_tokens),
      each.training_seconds.toFixed(0),
      each.gpu_seconds.toFixed(0),
      ...costCell(each.cost_micros, currency),
    ]),
  )
