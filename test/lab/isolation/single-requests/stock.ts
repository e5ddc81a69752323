// Makes the objects that the requests read, as large as one account can make them.
import type { Account, Answer } from '../accounts.ts'
import type { Stage } from '../attack.ts'
import { statusOf, untilEnded } from '../probes.ts'
import { formOf } from './files.ts'
import type { Asker, Stock } from './extreme.ts'
import { multiplyRows } from './multiply-rows.ts'
import { createSend } from './send.ts'
import { settled } from './settle.ts'
import { list, metadata, words } from './texts.ts'

const storedRows = 'many-stored-rows'
const spareRows = 'spare-stored-rows'

export async function makeStock({ connection, homeDir }: Stage, account: Account): Promise<Stock> {
  const { apiUrl, baseModel, databaseUrl } = connection
  const send = createSend(apiUrl, account.apiKey)
  const asker = { baseModel, ask: account.ask, send, signal: new AbortController().signal }
  const data = await makeData(asker)
  const work = await makeWork(asker, data.wideRows)
  const things = await makeThings(asker)
  const modelName = await untilDone(asker, work)
  await multiplyRows(databaseUrl, {
    ...{ accountId: account.id, job: work.job, modelName, evaluation: work.evaluation },
    ...{ evalId: uuidOf(work.eval), evalRun: uuidOf(work.evalRun), response: uuidOf(things.response) },
    ...{ webhook: things.webhook, key: things.key, smallFile: uuidOf(data.smallFile) },
  })
  const resultFile = `file-results-${work.job}`
  return { ...data, ...work, ...things, modelName, resultFile, embeddingModel: 'all-MiniLM-L6-v2', homeDir }
}

async function made<T = { id: string }>({ send }: Asker, path: string, body: object): Promise<T> {
  const answer = await send('POST', path, { body })
  if (answer.status === 200) return answer.body as T
  throw new Error(`POST ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`)
}

async function makeData(asker: Asker) {
  const rows = async (id: string, data: object[]) => {
    await made(asker, '/v1/local-data', { dataset_id: id, data })
    return id
  }
  const file = async (text: string) => {
    const bytes = Buffer.from(text)
    const body = formOf({ purpose: 'fine-tune' }, { field: 'file', name: 'rows.jsonl', bytes })
    return (await made(asker, '/openai/v1/files', body)).id
  }
  const items = (count: number) => list(count, (at) => ({ note: { text: words(100, at) } }))
  for (const id of [storedRows, spareRows]) await made<object>(asker, '/v1/svc/data', { id, data: items(10_000) })
  const turns = list(100, (at) => ({ role: at % 2 ? 'assistant' : 'user', content: words(40, at) }))
  return {
    ...{ storedRows, spareRows },
    versions: await rows('wide', [{ input: 'a', output: 'b' }]),
    wideRows: await rows(
      'wide-rows',
      list(100, (at) => ({ input: words(600_000, at), output: 'b' })),
    ),
    manyRows: await rows(
      'many-rows',
      list(400_000, (at) => ({ input: words(60, at), output: words(20, at) })),
    ),
    conversations: await rows(
      'conversations',
      list(100, () => ({ messages: turns })),
    ),
    smallFile: await file('{"input": "a", "output": "b"}\n'),
    largeFile: await file(`{"input": "${words(60_000)}", "output": "b"}\n`.repeat(1000)),
  }
}

/** Begins work that takes a while. */
async function makeWork(asker: Asker, wideRows: string) {
  const { baseModel } = asker
  const { job_id: job } = await made<{ job_id: string }>(asker, '/v1/train', {
    ...{ model_name: baseModel, custom_model_name: 'many-versions', finetune_args: { max_steps: 1 }, metadata },
    data: list(40, (at) => ({ input: words(200, at), output: words(200, at) })),
  })
  const prompt = list(1000, (at) => words(60, at))
  const completions = { model_name: baseModel, prompt, max_tokens: 1 }
  const { id: completionBatch } = await made(asker, '/v1/batch_completions', completions)
  const few = { ...completions, prompt: prompt.slice(0, 200) }
  const { id: streamedBatch } = await made(asker, '/v3/streaming_completions', few)
  const { id: embeddingBatch } = await made(asker, '/v1/batch_embeddings', { prompt: prompt.slice(0, 500) })
  const check = { type: 'string_check', operation: 'ilike', input: `{{item.q}}${words(5000)}`, reference: words(5000) }
  const { id: evalId } = await made(asker, '/openai/v1/evals', {
    data_source_config: { type: 'custom', item_schema: { type: 'object' }, include_sample_schema: true },
    testing_criteria: list(10, (at) => ({ ...check, name: `${at}` })),
    metadata,
  })
  const content = list(1000, (at) => ({ item: { q: words(15_000, at) }, sample: { output_text: words(1000, at) } }))
  const { id: evalRun } = await made(asker, `/openai/v1/evals/${evalId}/runs`, {
    data_source: { type: 'jsonl', source: { type: 'file_content', content } },
    metadata,
  })
  const asked = { models: [baseModel], dataset_id: wideRows, max_tokens: 4 }
  const { id: evaluation } = await made(asker, '/v1/evaluations', asked)
  return { job, completionBatch, streamedBatch, embeddingBatch, eval: evalId, evalRun, evaluation }
}

async function makeThings(asker: Asker) {
  const upload = { filename: 'a.jsonl', purpose: 'fine-tune', mime_type: 'text/plain', bytes: 5_000_000_000 }
  const answer = { model: asker.baseModel, input: 'Who?', max_output_tokens: 4 }
  return {
    upload: (await made(asker, '/openai/v1/uploads', upload)).id,
    response: (await made(asker, '/openai/v1/responses', answer)).id,
    webhook: (await made(asker, '/v1/webhooks', { url: 'https://example.com/hooks' })).id,
    key: (await made(asker, '/v1/keys', { name: 'spare', scopes: ['read'] })).id,
  }
}

type Work = Awaited<ReturnType<typeof makeWork>>

/** @returns the name of the tuned model */
async function untilDone(asker: Asker, work: Work): Promise<string> {
  const ended = await untilEnded(asker.ask, work.job)
  if (statusOf(ended) !== 'COMPLETED') throw new Error(`The job of the stock ended as ${statusOf(ended)}.`)
  const reasons = ({ body }: Answer) => (body as { finish_reason?: unknown[] }).finish_reason ?? [null]
  const vectors = ({ body }: Answer) => (body as { embedding?: unknown }).embedding
  const isOver = (answer: Answer) => !['queued', 'in_progress', 'QUEUED', 'RUNNING'].includes(statusOf(answer) ?? '')
  const { completionBatch, embeddingBatch, eval: evalId, evalRun, evaluation } = work
  await settled(asker, `/v1/batch_completions/${completionBatch}/result`, (answer) => !reasons(answer).includes(null))
  await settled(asker, `/v1/batch_embeddings/${embeddingBatch}/result`, (answer) => Array.isArray(vectors(answer)))
  await settled(asker, `/openai/v1/evals/${evalId}/runs/${evalRun}`, isOver)
  await settled(asker, `/v1/evaluations/${evaluation}`, isOver)
  return (ended.body as { model_name: string }).model_name
}

/** The id in the tables of an id on the wire, such as `eval_0123…`. */
const uuidOf = (id: string) =>
  id.replace(/^[a-z]+[_-]/, '').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5')
