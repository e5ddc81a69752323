// What keys use of models is counted under them, whichever way it is asked for, and shows to their account alone.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { connectDatabase } from '../../src/repositories/database.ts'
import { createOperator } from '../support/operator.ts'
import { sampleRows, shortRun } from '../support/rows.ts'
import { connection, createApi, openAccount } from '../support/stack.ts'
import { eventually } from '../support/eventually.ts'

type Line = {
  day?: string
  key_id?: string | null
  model_name?: string
  prompts: number
  prompt_tokens: number
  completion_tokens: number
  engine_seconds: number
  training_seconds: number
  gpu_seconds: number
}
type Page = { usage: Line[]; next: string | null }

suite('usage', async () => {
  const { baseModel } = connection()
  const account = await createOperator().openAccount()
  const keys = [await account.makeKey(['inference', 'training', 'read']), await account.makeKey(['inference', 'read'])]
  const [first, second] = keys.map(({ key }) => createApi(key)) as [
    ReturnType<typeof createApi>,
    ReturnType<typeof createApi>,
  ]

  async function usage(query: string): Promise<Line[]> {
    const lines: Line[] = []
    for (let after = ''; ;) {
      const page: Page = await first.get(`/v1/usage?limit=1&${query}${after}`)
      lines.push(...page.usage)
      if (page.next === null) return lines
      after = `&after=${page.next}`
    }
  }
  const ofKey = async (id: string, model: string) =>
    (await usage('group_by=key,model')).find(({ key_id, model_name }) => key_id === id && model_name === model)

  test('tokens are those that the engine counted, under the key and the model that were asked', async () => {
    const answers = await Promise.all(
      Array.from({ length: 3 }, () =>
        first.post<{ usage: { prompt_tokens: number; completion_tokens: number } }>('/openai/v1/completions', {
          model: baseModel,
          prompt: ['Who?', 'Where is it?'],
          max_tokens: 8,
        }),
      ),
    )
    const sum = (read: (usage: (typeof answers)[number]['usage']) => number) =>
      answers.reduce((total, { usage }) => total + read(usage), 0)
    const expected = [6, sum(({ prompt_tokens }) => prompt_tokens), sum(({ completion_tokens }) => completion_tokens)]
    const line = await eventually(async () => {
      const found = await ofKey(keys[0]?.id ?? '', baseModel)
      return found && found.prompts >= 6 ? found : null
    })
    assert.deepEqual([line.prompts, line.prompt_tokens, line.completion_tokens], expected)
    assert.ok(line.engine_seconds > 0)
    assert.equal(line.gpu_seconds, 0)
  })

  test('a batch, typed answers and embeddings count under the key that sent them', async () => {
    await second.post('/v1/completions', { model_name: baseModel, prompt: 'Who?', output_type: { name: 'str' } })
    await second.post('/v1/batch_completions', { model_name: baseModel, prompt: ['a', 'b', 'c'], max_tokens: 2 })
    await second.post('/v1/inference/embedding', { prompt: ['a cat', 'a dog'] })
    const id = keys[1]?.id ?? ''
    const line = await eventually(async () => {
      const found = await ofKey(id, baseModel)
      return found && found.prompts >= 4 ? found : null
    })
    assert.equal(line.prompts, 4)
    assert.ok(line.completion_tokens > 0)
    const embedder = await eventually(async () => {
      const lines = await usage('group_by=key,model')
      return lines.find(({ key_id, model_name }) => key_id === id && model_name !== baseModel)
    })
    assert.deepEqual([embedder.prompts, embedder.completion_tokens], [2, 0])
    assert.ok(embedder.prompt_tokens >= 4)
  })

  test('a training attempt counts once, from its claim to its release', async () => {
    const id = await first.train({ data: sampleRows, finetune_args: { ...shortRun, max_steps: 2 } })
    await first.untilStatus(id, 'COMPLETED')
    const line = await eventually(async () => {
      const found = await ofKey(keys[0]?.id ?? '', baseModel)
      return found && found.training_seconds > 0 ? found : null
    })
    const database = connectDatabase(connection().databaseUrl, { poolSize: 1 })
    await database.attempts.release({ jobId: id, number: 1 }, { cause: 'killed', exitCode: 1, message: 'again' })
    await database.close()
    assert.equal((await ofKey(keys[0]?.id ?? '', baseModel))?.training_seconds, line.training_seconds)
    const { attempts } = await first.get<{ attempts: { training_seconds: { allocated: number } }[] }>(
      `/v1/train/jobs/${id}/attempts`,
    )
    const ofAttempts = attempts.reduce((sum, { training_seconds: { allocated } }) => sum + allocated, 0)
    assert.ok(Math.abs(ofAttempts - line.training_seconds) < 0.01, 'the ledger of attempts counts the same')
  })

  test('the pages of every grouping add up to the same; other accounts and other days show nothing', async () => {
    const total = async (query: string) =>
      (await usage(query)).reduce((sum, { completion_tokens }) => sum + completion_tokens, 0)
    const all = await total('group_by=day')
    assert.ok(all > 0)
    for (const grouping of ['key', 'model', 'key,model', 'day,key,model'])
      assert.equal(await total(`group_by=${grouping}`), all)
    assert.deepEqual(await usage('from=2020-01-01&to=2020-12-31'), [])
    assert.deepEqual((await (await openAccount()).get<Page>('/v1/usage')).usage, [])
  })

  test('Prometheus reads queue, tokens and adapters by base model', async () => {
    const metrics = await (await fetch(`${connection().adminUrl}/metrics`)).text()
    const models = new Set(
      [...metrics.matchAll(/^anneal_inference_\w+\{.*model="([^"]*)"/gm)].map(([, model]) => model),
    )
    assert.ok(
      models.has(baseModel) &&
        [...models].every((model) => /^[\w.-]+$/.test(model ?? '') && !/^[0-9a-f]{64}$/.test(model ?? '')),
    )
    for (const name of ['queue_prompts', 'tokens_total', 'first_token_seconds', 'adapter_cache_total'])
      assert.match(metrics, new RegExp(`^# TYPE anneal_inference_${name} `, 'm'))
    assert.match(
      metrics,
      new RegExp(`^anneal_inference_tokens_total\\{model="${baseModel}",direction="out"\\} [1-9]`, 'm'),
    )
  })
})
