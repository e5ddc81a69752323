import { serviceCommand } from './remote/remote-command.ts'
import { table } from './remote/table.ts'

type Quota = { name: string; title: string; limit: number; used: number; left: number }

export const limits = serviceCommand({
  usage: '\n',
  options: {},
  takes: { least: 0, most: 0 },
  async run({ client, print }) {
    const answer = await client.get<{ limits: Quota[] }>('/v1/limits')
    print(answer, () =>
      table(
        ['LIMIT', 'MOST', 'USED', 'LEFT'],
        answer.limits.map(({ title, limit, used, left }) => [title, ...[limit, used, left].map(String)]),
      ),
    )
    return 0
  },
})
