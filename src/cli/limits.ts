import { serviceVerb } from './remote/remote-verb.ts'
import { table } from './remote/table.ts'

export const command = serviceVerb({
  async run({ client, print }) {
    const answer = await client.get('/v1/limits')
    print(answer, () =>
      table(
        ['LIMIT', 'MOST', 'USED', 'LEFT'],
        answer.limits.map(({ title, limit, used, left }) => [title, ...[limit, used, left].map(String)]),
      ),
    )
  },
})
