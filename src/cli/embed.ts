import { serviceCommand } from './remote/remote-command.ts'
import { textsFrom } from './remote/stdin.ts'

export const embed = serviceCommand({
  usage: `TEXT... [--model NAME]

  TEXT         a text; - reads one from standard input
  --model NAME default: the embedding model of the service`,
  options: { model: { type: 'string' } },
  takes: { least: 1, most: 10_000 },
  async run({ client, positionals, values: { model }, print }) {
    const { embedding } = await client.post<{ embedding: number[][] }>('/v1/inference/embedding', {
      prompt: await textsFrom(positionals),
      ...(model !== undefined && { model_name: model }),
    })
    print(embedding, () => embedding.map((vector) => JSON.stringify(vector)).join('\n'))
    return 0
  },
})
