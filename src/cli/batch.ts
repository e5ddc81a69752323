import { setTimeout as sleep } from 'node:timers/promises'
import { UsageError } from './usage-error.ts'
import { serviceCommand } from './remote/remote-command.ts'
import { textsFrom } from './remote/stdin.ts'

type Result = { outputs?: unknown[]; finish_reason?: (string | null)[]; embedding?: unknown[] }

const pollMs = 2000
const routes = { complete: '/v1/batch_completions', embed: '/v1/batch_embeddings' }

export const batch = serviceCommand({
  usage: `complete TEXT... --model NAME [--max-tokens N] [--wait]
       anneal batch embed TEXT... [--model NAME] [--wait]
       anneal batch result complete|embed ID [--wait]

  TEXT            a text; - reads standard input, one text a line
  --model NAME    a base or tuned model
  --max-tokens N  limit of the tokens of an answer
  --wait          wait for all results, and print them in order, one JSON value a line`,
  options: { model: { type: 'string' }, 'max-tokens': { type: 'string' }, wait: { type: 'boolean' } },
  takes: { least: 2, most: 10_001 },
  async run({ client, positionals: [verb = '', ...rest], values, print, signal }) {
    const [kind, id] = verb === 'result' ? rest : [verb]
    if (kind !== 'complete' && kind !== 'embed')
      throw new UsageError(`batch takes complete, embed or result, not "${verb}".`)
    if (verb === 'result' && id === undefined) throw new UsageError('Name the batch.')
    const batchId = id ?? (await submit(kind))
    if (verb !== 'result' && !values.wait) {
      print({ id: batchId }, () => batchId)
      return 0
    }
    for (;;) {
      const result = await client.get<Result>(`${routes[kind]}/${encodeURIComponent(batchId)}/result`)
      if (isWhole(result) || !values.wait) {
        print(result, () =>
          itemsOf(result)
            .map((item) => JSON.stringify(item))
            .join('\n'),
        )
        return 0
      }
      await sleep(pollMs, undefined, { signal })
    }

    async function submit(kind: keyof typeof routes): Promise<string> {
      const { model, 'max-tokens': maxTokens } = values
      if (kind === 'complete' && model === undefined) throw new UsageError('--model is missing.')
      const answer = await client.post<{ id: string }>(routes[kind], {
        prompt: await linesFrom(rest),
        ...(model !== undefined && { model_name: model }),
        ...(maxTokens !== undefined && { max_tokens: Number(maxTokens) }),
      })
      return answer.id
    }
  },
})

async function linesFrom(args: string[]): Promise<string[]> {
  const texts = await textsFrom(args)
  return args.flatMap((arg, i) => (arg === '-' ? (texts[i] ?? '').split('\n').filter((line) => line !== '') : [arg]))
}

const itemsOf = ({ outputs, embedding }: Result) => outputs ?? embedding ?? []

/** Embeddings come all at once. */
const isWhole = ({ embedding, finish_reason: reasons }: Result) =>
  embedding !== undefined || (reasons !== undefined && reasons.every((reason) => reason !== null))
