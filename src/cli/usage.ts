import { pageOptions, pageUsage, queryOf, tellNext } from './remote/page.ts'
import { serviceCommand } from './remote/remote-command.ts'
import { table } from './remote/table.ts'

type Used = {
  day?: string
  key_id?: string | null
  model_name?: string
  prompts: number
  prompt_tokens: number
  completion_tokens: number
  training_seconds: number
  gpu_seconds: number
}

export const usage = serviceCommand({
  usage: `[--from DAY] [--to DAY] [--by LIST] [--limit N] [--after ID]

  --from DAY   the first day (UTC), such as 2027-01-01 (default: 29 days before the last)
  --to DAY     the last day, included (default: today)
  --by LIST    day, key and model, or some of them, with commas between (default: all)
${pageUsage}`,
  options: { ...pageOptions, from: { type: 'string' }, to: { type: 'string' }, by: { type: 'string' } },
  takes: { least: 0, most: 0 },
  async run({ client, values: { from, to, by, limit, after }, print }) {
    const page = await client.get<{ usage: Used[]; next: string | null }>(
      `/v1/usage${queryOf({ from, to, group_by: by, limit, after })}`,
    )
    print(page, () => rows(page.usage))
    tellNext(page.next)
    return 0
  },
})

const rows = (list: Used[]) =>
  table(
    ['DAY', 'KEY', 'MODEL', 'PROMPTS', 'TOKENS IN', 'TOKENS OUT', 'TRAINING S', 'GPU S'],
    list.map((each) => [
      each.day ?? '',
      each.key_id ?? '',
      each.model_name ?? '',
      String(each.prompts),
      String(each.prompt_tokens),
      String(each.completion_tokens),
      each.training_seconds.toFixed(0),
      each.gpu_seconds.toFixed(0),
    ]),
  )
