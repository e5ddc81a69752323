import { setTimeout as sleep } from 'node:timers/promises'
import type { Command, Options } from './command.ts'
import { chatFields, chatOptions } from './remote/chat-options.ts'
import type { Answer } from './remote/operations.ts'
import { pageOptions, shortTime, tellNext } from './remote/page.ts'
import { serviceVerb, warn, type Invocation } from './remote/remote-verb.ts'
import { textsFrom } from './remote/stdin.ts'
import { table } from './remote/table.ts'
import { UsageError } from './usage-error.ts'

const pollMs = 2000
const routes = { complete: '/v1/batch_completions', embed: '/v1/batch_embeddings' } as const
type Kind = keyof typeof routes
type Result = Answer<'get', `${(typeof routes)[Kind]}/:id/result`>

const texts = { 'TEXT...': 'a text; - reads standard input, one text a line' }
const model = { value: 'NAME', says: 'a base or tuned model' } as const
const wait = { says: 'wait for all results, and print them in order, one JSON value a line' } as const

type Batch = Answer<'get', '/v1/batches/:id'>

export const command: Command = {
  list: serviceVerb({
    options: {
      ...pageOptions,
      status: { value: 'STATES', says: 'only batches in these states, with commas between; open is all that run' },
    },
    async run({ client, values: { limit, after, status }, print }) {
      const page = await client.get('/v1/batches', { query: { limit, after, status } })
      print(page, () => rows(page.batches))
      tellNext(page.next)
    },
  }),
  show: serviceVerb({
    takes: { ID: '' },
    async run({ client, args: [id = ''], print }) {
      const batch = await client.get('/v1/batches/:id', { params: { id } })
      print(batch, () => [rows([batch]), batch.status_message ?? ''].join('\n').trimEnd())
    },
  }),
  cancel: serviceVerb({
    takes: { ID: '' },
    async run({ client, args: [id = ''], print }) {
      const batch = await client.post('/v1/batches/:id/cancel', { params: { id } })
      print(batch, () => `Cancelled ${id}.`)
    },
  }),
  complete: serviceVerb({
    takes: texts,
    options: {
      model: { ...model, required: true },
      ...chatOptions,
      'max-tokens': { value: 'N', says: 'limit of the tokens of an answer' },
      wait,
    },
    async run({ client, args, values, ...rest }) {
      const { id } = await client.post(routes.complete, {
        body: {
          ...chatFields(values),
          prompt: await linesFrom(args),
          model_name: values.model,
          ...(values['max-tokens'] !== undefined && { max_tokens: Number(values['max-tokens']) }),
        },
      })
      return submitted({ ...rest, kind: 'complete', id, isAwaited: values.wait ?? false })
    },
  }),
  embed: serviceVerb({
    takes: texts,
    options: { model, wait },
    async run({ client, args, values, ...rest }) {
      const body = { prompt: await linesFrom(args), model_name: values.model }
      const { id } = await client.post(routes.embed, { body })
      return submitted({ ...rest, kind: 'embed', id, isAwaited: values.wait ?? false })
    },
  }),
  result: serviceVerb({
    takes: { 'complete|embed': '', ID: '' },
    options: { wait },
    async run({ args: [kind = '', id = ''], values, ...rest }) {
      if (kind !== 'complete' && kind !== 'embed')
        throw new UsageError(`batch result takes complete or embed, not "${kind}".`)
      return printResult({ ...rest, kind, id, isAwaited: values.wait ?? false })
    },
  }),
}

type Asked = Pick<Invocation<Options>, 'clientUntil' | 'print' | 'signal'> & {
  kind: Kind
  id: string
  isAwaited: boolean
}

async function submitted(asked: Asked): Promise<number> {
  if (asked.isAwaited) return printResult(asked)
  asked.print({ id: asked.id }, () => asked.id)
  return 0
}

async function printResult({ clientUntil, kind, id, isAwaited, print, signal }: Asked): Promise<number> {
  for (;;) {
    const warnings: string[] = []
    const client = clientUntil(signal, (sentence) => warnings.push(sentence))
    const result: Result = await client.get(`${routes[kind]}/:id/result`, { params: { id } })
    if (isWhole(result) || !isAwaited) {
      for (const warning of warnings) warn(warning)
      print(result, () =>
        itemsOf(result)
          .map((item) => JSON.stringify(item))
          .join('\n'),
      )
      return 0
    }
    await sleep(pollMs, undefined, { signal })
  }
}

async function linesFrom(args: string[]): Promise<string[]> {
  const read = await textsFrom(args)
  return args.flatMap((arg, i) => (arg === '-' ? (read[i] ?? '').split('\n').filter((line) => line !== '') : [arg]))
}

const itemsOf = (result: Result): unknown[] =>
  'outputs' in result ? result.outputs : 'embedding' in result ? result.embedding : []

/** Embeddings come all at once. */
const isWhole = (result: Result) =>
  'embedding' in result || ('finish_reason' in result && result.finish_reason.every((reason) => reason !== null))

const rows = (batches: Batch[]) =>
  table(
    ['BATCH', 'AT (UTC)', 'STATUS', 'KIND', 'MODEL', 'DONE', 'FAILED'],
    batches.map(({ id, created_at: at, status, kind, model_name: model, display_name: name, item_counts: counts }) => [
      ...[id, shortTime(at), status, kind, name ?? model ?? ''],
      ...[`${counts.completed}/${counts.total}`, String(counts.failed)],
    ]),
  )
