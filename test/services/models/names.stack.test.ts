// A custom name in use: two jobs make two versions, requests name them, and an alias moves while requests are answered.
import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { eventually } from '../../support/eventually.ts'
import { connection, openAccount, type Api } from '../../support/stack.ts'

const input = 'Question: Which colour is the Tundra Backpack?\nAnswer: '
const colours = ['red', 'blue']

type Chat = { model: string; choices: { message: { content: string } }[] }

suite('a custom name', () => {
  const { baseModel } = connection()
  let api: Api
  let models: string[]
  /** What each version answers, by its id. */
  const answers = new Map<string, string>()

  const tune = async (output: string) => {
    const finetune_args = { max_steps: 30, save_steps: 20, learning_rate: 0.005 }
    const id = await api.train({ custom_model_name: 'support-bot', data: [{ input, output }], finetune_args })
    return (await api.untilStatus(id, 'COMPLETED')).model_name ?? assert.fail('no model')
  }
  const alias = (name: string, version: number) => api.request('PUT', `/v1/models/support-bot/aliases/${name}`, { version })
  const ask = async (model_name: string) =>
    (await api.post<{ output: string }>('/v1/completions', { model_name, prompt: input, max_tokens: 4 })).output
  const chat = (model: string) =>
    api.post<Chat>('/openai/v1/chat/completions', {
      model,
      messages: [{ role: 'user', content: input }],
      max_tokens: 4,
      temperature: 0,
    })

  before(async () => {
    api = await openAccount()
    models = [await tune(colours[0] ?? ''), await tune(colours[1] ?? '')]
    for (const model of models) answers.set(model, await ask(model))
  })

  test('leads to its newest version, to each by its number, and to none of another account', async () => {
    const [one, two] = models.map((model) => answers.get(model))
    assert.notEqual(one, two)
    for (const name of ['support-bot', 'support-bot@2', 'ft:tiny:my-org:support-bot']) assert.equal(await ask(name), two)
    assert.equal(await ask('support-bot@1'), one)
    const { body } = await api.request<{ detail: string }>('POST', '/v1/completions', {
      model_name: 'support-bot@3',
      prompt: '',
    })
    assert.match(body.detail, /"support-bot@3"/)
    const stranger = await openAccount()
    for (const model_name of ['support-bot', 'support-bot@1', ...models])
      assert.equal((await stranger.request('POST', '/v1/completions', { model_name, prompt: '' })).status, 404)
    const theirs = await stranger.request('PUT', '/v1/models/support-bot/aliases/production', { version: 1 })
    assert.equal(theirs.status, 404)
    assert.equal((await stranger.request('GET', '/v1/models/support-bot')).status, 404)
  })

  test('is taken by every route, and OpenAI answers say which version spoke', async () => {
    const [one, two] = models
    for (const [name, model] of [
      ['support-bot', two],
      ['support-bot@1', one],
    ] as const) {
      assert.equal((await chat(name)).model, model)
      const { model: completed } = await api.post<Chat>('/openai/v1/completions', { model: name, prompt: 'a', max_tokens: 1 })
      assert.equal(completed, model)
      const { model: embedded } = await api.post<Chat>('/openai/v1/embeddings', { model: name, input: 'a' })
      assert.equal(embedded, model)
      assert.equal((await api.get<{ id: string }>(`/openai/v1/models/${name}`)).id, model)
      assert.equal((await api.get<{ model_name: string }>(`/v1/models/${name}/download`)).model_name, model)
      await api.post('/v1/reservation', { model_name: name, capacity: 1 })
      await api.post('/v1/embedding', { model_name: name, prompt: 'a' })
    }
    const { id } = await api.post<{ id: string }>('/v1/batch_completions', {
      model_name: 'support-bot@1',
      prompt: [input],
      max_tokens: 4,
    })
    const done = await eventually(async () => {
      const result = await api.get<{ outputs?: { output: string }[] }>(`/v1/batch_completions/${id}/result`)
      return result.outputs?.[0]
    })
    assert.equal(done.output, answers.get(one ?? ''))
  })

  test('lists its versions with their jobs, page by page, and its aliases', async () => {
    await alias('production', 1)
    type Evaluation = { rows: number; path: string; scores: object | null }
    type Versions = { versions: { version: number; model_name: string; evaluation: Evaluation | null }[]; next: number }
    const first = await api.get<Versions & { aliases: object[] }>('/v1/models/support-bot?limit=1')
    assert.deepEqual(first.versions.map(({ version, model_name }) => [version, model_name]), [[2, models[1]]])
    const evaluation = await eventually(async () => {
      const [newest] = (await api.get<Versions>('/v1/models/support-bot?limit=1')).versions
      return newest?.evaluation?.scores ? newest.evaluation : null
    })
    assert.equal(evaluation.rows, 1)
    assert.deepEqual(evaluation.scores, (await api.get<{ summary: object }>(evaluation.path)).summary)
    assert.equal(first.aliases.length, 1)
    const rest = await api.get<Versions>(`/v1/models/support-bot?limit=1&after=${first.next}`)
    assert.deepEqual(rest.versions.map(({ model_name }) => model_name), [models[0]])
    const one = await api.get<Versions>('/v1/models/support-bot@production')
    assert.deepEqual(one.versions.map(({ version }) => version), [1])
    assert.equal((await api.request('GET', `/v1/models/${baseModel}`)).status, 400)
  })

  test('has an alias that moves under load: each request gets the old version or the new one', async () => {
    await alias('production', 1)
    let isMoving = true
    const seen = new Set<string>()
    const askers = Array.from({ length: 4 }, async () => {
      for (let asked = 0; isMoving || asked < 10; asked += 1) {
        const { model, choices } = await chat('support-bot@production')
        assert.ok(models.includes(model), model)
        assert.equal(choices[0]?.message.content, (await chat(model)).choices[0]?.message.content)
        seen.add(model)
      }
    })
    for (let move = 0; move < 10 || seen.size < 2; move += 1) {
      const version = 1 + (move % 2)
      assert.equal((await alias('production', version)).status, 200)
      // A request that begins after the answer gets the new version.
      assert.equal((await chat('support-bot@production')).model, models[version - 1])
    }
    isMoving = false
    await Promise.all(askers)
  })

  test('leaves a checkpoint that is asked like a model, by its account only', async () => {
    const { versions } = await api.get<{ versions: { job_id: number }[] }>('/v1/models/support-bot@1')
    const name = `ftjob-${versions[0]?.job_id}:ckpt-step-20`
    const { model, choices } = await chat(name)
    assert.equal(model, name)
    assert.equal((await ask(name)).length > 0, (choices[0]?.message.content.length ?? 0) > 0)
    const { data } = await api.get<{ data: { fine_tuned_model_checkpoint: string }[] }>(
      `/openai/v1/fine_tuning/jobs/${name.split(':')[0]}/checkpoints`,
    )
    const names = data.map((each) => each.fine_tuned_model_checkpoint)
    assert.match(names[0] ?? '', new RegExp(`^ft:.*:support-bot:${models[0]}$`))
    assert.deepEqual(names.slice(1), [name])
    assert.equal((await api.get<{ files: object[] }>(`/v1/models/${name}/download`)).files.length, 4)
    const stranger = await openAccount()
    assert.equal((await stranger.request('POST', '/v1/completions', { model_name: name, prompt: 'a' })).status, 404)
    assert.equal((await api.request('DELETE', `/v1/models/${name}`)).status, 400)
    assert.equal((await api.request('POST', '/v1/completions', { model_name: `${name}0`, prompt: 'a' })).status, 404)
  })

  test('can be trained on: the new version begins from the adapter, and says so', async () => {
    const body = { model_name: 'support-bot@1', custom_model_name: 'support-bot', data: [{ input, output: colours[0] }] }
    const wrong = await api.request<{ detail: string }>('POST', '/v1/train', {
      ...body,
      model_name: 'support-bot@1',
      finetune_args: { r_value: 3 },
    })
    assert.equal(wrong.status, 400)
    assert.match(wrong.body.detail, /r_value follows from the tuned model and must be absent or 64\./)
    // With the arguments that have no default in a job: the claim carries them to the trainer.
    const later = { warmup_ratio: 1, gradient_checkpointing: true, overlong: 'drop', finetuning_type: 'lora' }
    const id = await api.train({ ...body, finetune_args: { max_steps: 1, learning_rate: 1e-9, ...later } })
    assert.equal((await api.request('DELETE', '/v1/models/support-bot@1')).status, 409)
    const model = (await api.untilStatus(id, 'COMPLETED')).model_name ?? assert.fail('no model')
    // A step that changes nothing: the answers are those of the start.
    assert.equal(await ask('support-bot'), answers.get(models[0] ?? ''))
    const { versions } = await api.get<{ versions: { parent: object | null }[] }>(`/v1/models/${model}`)
    assert.deepEqual(versions[0]?.parent, { model_name: models[0], name: 'support-bot', version: 1 })
    assert.equal((await api.request('DELETE', `/v1/models/${model}`)).status, 200)
  })

  test('refuses to lose a version that an alias needs, and aliases that mislead', async () => {
    await alias('production', 1)
    for (const [name, status] of [
      ['support-bot@1', 409],
      ['support-bot', 400],
      ['support-bot@production', 400],
    ] as const)
      assert.equal((await api.request('DELETE', `/v1/models/${name}`)).status, status, name)
    for (const name of ['3', 'a%40b', 'a'.repeat(65)]) assert.equal((await alias(name, 1)).status, 400, name)
    assert.equal((await alias('staging', 9)).status, 404)
    const { body } = await api.request<{ previous_version: number }>('PUT', '/v1/models/support-bot/aliases/production', {
      version: 2,
    })
    assert.equal(body.previous_version, 1)
    const { events } = await api.get<{ events: { action: string; target: string }[] }>('/v1/audit?limit=1')
    assert.deepEqual([events[0]?.action, events[0]?.target], ['model.alias', 'support-bot@production -> 2'])
    assert.equal((await api.request('DELETE', '/v1/models/support-bot/aliases/production')).status, 200)
    assert.equal((await api.request('DELETE', '/v1/models/support-bot/aliases/production')).status, 404)
    assert.equal((await api.request('DELETE', '/v1/models/support-bot@1')).status, 200)
    assert.equal(await ask('support-bot'), answers.get(models[1] ?? ''))
    assert.equal((await api.request('POST', '/v1/completions', { model_name: 'support-bot@1', prompt: '' })).status, 404)
  })
})
