import { serviceVerb } from './remote/remote-verb.ts'
import { textsFrom } from './remote/stdin.ts'

export const command = serviceVerb({
  takes: { 'TEXT...': 'a text; - reads one from standard input' },
  options: { model: { value: 'NAME', says: 'default: the embedding model of the service' } },
  async run({ client, args, values: { model }, print }) {
    const body = { prompt: await textsFrom(args), model_name: model }
    const { embedding } = await client.post('/v1/inference/embedding', { body })
    print(embedding, () => embedding.map((vector) => JSON.stringify(vector)).join('\n'))
  },
})
