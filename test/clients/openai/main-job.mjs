// The main job with the official openai SDK for Node, unchanged; the job is paused and resumed on its way.
import OpenAI, { toFile } from 'openai'
import assert from 'node:assert/strict'
import { createReadStream, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const base = process.env.BASE_MODEL
const file = process.env.CHAT_FILE
const rows = readFileSync(file, 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line).messages)
const client = new OpenAI()
const { jobs } = client.fineTuning

async function check(name, work) {
  const error = await work().then(
    () => null,
    (failure) => String(failure.stack),
  )
  console.log(JSON.stringify({ check: name, error }))
}

async function until(id, wanted) {
  for (;;) {
    const job = await jobs.retrieve(id)
    if (job.status === wanted) return job
    assert.ok(!['succeeded', 'failed', 'cancelled'].includes(job.status), `${job.status}: ${job.error?.message}`)
    await sleep(100)
  }
}

const training = await client.files.create({ file: createReadStream(file), purpose: 'fine-tune' })
const hyperparameters = { n_epochs: 75, learning_rate_multiplier: 1 }
const { id } = await jobs.create({ model: base, training_file: training.id, hyperparameters, suffix: 'node' })
let model

await check('files', async () => {
  assert.deepEqual(await client.files.retrieve(training.id), training)
  assert.equal(await (await client.files.content(training.id)).text(), readFileSync(file, 'utf8'))
})

await check('the job is paused, resumed, and succeeds', async () => {
  await until(id, 'running')
  await jobs.pause(id)
  await until(id, 'paused')
  assert.ok(['queued', 'running'].includes((await jobs.resume(id)).status))
  const job = await until(id, 'succeeded')
  assert.equal(job.user_provided_suffix, 'node')
  model = job.fine_tuned_model
})

await check('events and checkpoints', async () => {
  const messages = []
  const steps = []
  for await (const { type, message, data } of jobs.listEvents(id, { limit: 9 }))
    if (type === 'metrics') steps.push(data)
    else messages.push(message)
  assert.ok(messages.length > 8 && messages[0].includes('succeeded'))
  const [resultFile] = (await jobs.retrieve(id)).result_files
  const lines = (await (await client.files.content(resultFile)).text()).trimEnd().split('\n').slice(1)
  assert.deepEqual(
    lines.map((line) => line.split(',').slice(0, 2).map(Number)),
    steps.reverse().map(({ step, train_loss }) => [step, train_loss]),
  )
  const [newest] = (await jobs.checkpoints.list(id)).data
  assert.equal(newest.fine_tuned_model_checkpoint, model)
})

await check('another job is cancelled', async () => {
  const other = await jobs.create({ model: base, training_file: training.id })
  assert.equal((await jobs.cancel(other.id)).status, 'cancelled')
  const listed = []
  for await (const job of jobs.list({ limit: 1 })) listed.push(job.id)
  assert.deepEqual(listed, [other.id, id])
})

await check('the tuned model answers, streams and keeps a schema', async () => {
  const [question, expected] = rows[0]
  const asked = { model, messages: [question], temperature: 0 }
  const whole = await client.chat.completions.create(asked)
  assert.equal(whole.choices[0].message.content, expected.content)
  const pieces = []
  for await (const chunk of await client.chat.completions.create({ ...asked, stream: true }))
    pieces.push(chunk.choices[0]?.delta.content ?? '')
  assert.equal(pieces.join(''), expected.content)
  assert.ok(pieces.filter(Boolean).length > 3)
  const final = await client.chat.completions.stream(asked).finalContent()
  assert.equal(final, expected.content)
  const properties = { name: { type: 'string' }, size: { enum: ['small', 'large'] } }
  const schema = { type: 'object', properties, required: ['name', 'size'], additionalProperties: false }
  const response_format = { type: 'json_schema', json_schema: { name: 'item', strict: true, schema } }
  const typed = JSON.parse(
    (await client.chat.completions.create({ ...asked, response_format })).choices[0].message.content,
  )
  assert.deepEqual(Object.keys(typed), ['name', 'size'])
  assert.ok(properties.size.enum.includes(typed.size))
})

await check('prompts are completed, texts embedded', async () => {
  const { choices } = await client.completions.create({ model: base, prompt: 'a', max_tokens: 8, temperature: 0 })
  assert.equal(typeof choices[0].text, 'string')
  const { data } = await client.embeddings.create({ model: 'all-MiniLM-L6-v2', input: ['a cat', 'a dog'] })
  assert.equal(data[1].embedding.length, 384)
  assert.ok(Math.abs(Math.hypot(...data[1].embedding) - 1) < 1e-5)
})

await check('choices, probabilities and a batch of requests', async () => {
  const asked = { model: base, messages: [rows[0][0]], max_tokens: 6, temperature: 0 }
  const { choices } = await client.chat.completions.create({ ...asked, n: 2, logprobs: true, top_logprobs: 1 })
  assert.deepEqual([choices.length, choices[1].index], [2, 1])
  assert.ok(choices[0].logprobs.content.every(({ logprob, top_logprobs }) => logprob === top_logprobs[0].logprob))
  const url = '/v1/chat/completions'
  const lines = ['a', 'b'].map((id) => JSON.stringify({ custom_id: id, method: 'POST', url, body: asked }))
  const file = await client.files.create({
    file: await toFile(Buffer.from(lines.join('\n')), 'requests.jsonl'),
    purpose: 'batch',
  })
  let batch = await client.batches.create({ input_file_id: file.id, endpoint: url, completion_window: '24h' })
  for (let tries = 0; batch.status !== 'completed' && tries < 4000; tries++) {
    await sleep(100)
    batch = await client.batches.retrieve(batch.id)
  }
  const answers = (await (await client.files.content(batch.output_file_id)).text())
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.deepEqual(
    answers.map(({ custom_id, response }) => [custom_id, response.body.choices[0].message.content]),
    ['a', 'b'].map((id) => [id, choices[0].message.content]),
  )
})

await check('a file arrives in parts', async () => {
  const head = { filename: 'parts.jsonl', mime_type: 'application/jsonl', purpose: 'fine-tune', bytes: 4 }
  const { id } = await client.uploads.create(head)
  const parts = []
  for (const text of ['cd', 'ab'])
    parts.push((await client.uploads.parts.create(id, { data: await toFile(Buffer.from(text)) })).id)
  const { file } = await client.uploads.complete(id, { part_ids: parts.toReversed() })
  assert.equal(await (await client.files.content(file.id)).text(), 'abcd')
  assert.equal((await client.files.delete(file.id)).deleted, true)
  const other = await client.uploads.create(head)
  assert.equal((await client.uploads.cancel(other.id)).status, 'cancelled')
})

await check('an eval judges answers', async () => {
  const text = '{{sample.output_text}}'
  const judge = { model: base, input: [{ role: 'user', content: `Is ${text} right?` }] }
  const made = await client.evals.create({
    name: 'products',
    data_source_config: { type: 'custom', item_schema: { type: 'object' }, include_sample_schema: true },
    testing_criteria: [
      { type: 'string_check', name: 'same', input: text, reference: '{{item.answer}}', operation: 'eq' },
      { type: 'score_model', name: 'score', ...judge, range: [0, 10], pass_threshold: 0 },
      { type: 'label_model', name: 'label', ...judge, labels: ['yes', 'no'], passing_labels: ['yes', 'no'] },
    ],
  })
  const content = rows.map(([{ content: question }, { content: answer }]) => ({ item: { question, answer } }))
  let run = await client.evals.runs.create(made.id, {
    data_source: {
      type: 'completions',
      model,
      source: { type: 'file_content', content },
      input_messages: { type: 'template', template: [{ role: 'user', content: '{{item.question}}' }] },
      sampling_params: { temperature: 0 },
    },
  })
  for (let tries = 0; run.status !== 'completed' && tries < 4000; tries++) {
    await sleep(100)
    run = await client.evals.runs.retrieve(run.id, { eval_id: made.id })
  }
  assert.ok(run.result_counts.passed >= rows.length * 0.9, JSON.stringify(run))
  const [same, ...judges] = run.per_testing_criteria_results
  assert.equal(same.passed, run.result_counts.passed)
  assert.deepEqual(
    judges.map(({ passed, failed }) => [passed, failed]),
    judges.map(() => [rows.length, 0]),
  )
  assert.deepEqual(
    run.per_model_usage.map(({ invocation_count }) => invocation_count),
    [rows.length],
  )
  const items = []
  for await (const item of client.evals.runs.outputItems.list(run.id, { eval_id: made.id, limit: 7 })) items.push(item)
  assert.equal(items.length, rows.length)
  assert.equal((await client.evals.delete(made.id)).deleted, true)
})

await check('a grader scores a sample', async () => {
  const { graders } = client.fineTuning.alpha
  const grader = {
    type: 'string_check',
    name: 'same',
    operation: 'eq',
    input: '{{sample.output_text}}',
    reference: '{{item.name}}',
  }
  assert.equal((await graders.validate({ grader })).grader.name, 'same')
  assert.equal((await graders.run({ grader, model_sample: 'Ann', item: { name: 'Ann' } })).reward, 1)
  const { reward, metadata } = await graders.run({ grader, model_sample: 'Ann' })
  assert.deepEqual([reward, metadata.errors.invalid_variable_error], [0, true])
  const input = [{ role: 'user', content: 'How good is {{sample.output_text}}?' }]
  const judge = { type: 'score_model', name: 'judge', model: base, range: [0, 10], input }
  const scored = await graders.run({ grader: judge, model_sample: 'Ann.' })
  assert.ok(scored.reward >= 0 && scored.reward <= 10, JSON.stringify(scored))
  assert.equal(scored.metadata.sampled_model_name, base)
})

/** A job that is followed by its events, paused after a step, resumed, and read: itself and its steps. */
async function pausedOnItsWay(method, lines) {
  const content = Buffer.from(lines.map((line) => JSON.stringify(line)).join('\n'))
  const { id: file } = await client.files.create({ file: await toFile(content, 'rows.jsonl'), purpose: 'fine-tune' })
  const tuning = await jobs.create({ model: base, training_file: file, validation_file: file, method })
  const steps = async () => {
    const found = []
    for await (const { type, data } of jobs.listEvents(tuning.id, { limit: 100 }))
      if (type === 'metrics') found.push(data)
    return found.toReversed()
  }
  while ((await steps()).length === 0) await sleep(100)
  await jobs.pause(tuning.id)
  await until(tuning.id, 'paused')
  assert.ok(['queued', 'running'].includes((await jobs.resume(tuning.id)).status))
  const ended = await until(tuning.id, 'succeeded')
  assert.equal(ended.method.type, method.type)
  assert.ok(ended.trained_tokens > 0)
  const [newest] = (await jobs.checkpoints.list(tuning.id)).data
  assert.equal(newest.fine_tuned_model_checkpoint, ended.fine_tuned_model)
  const found = await steps()
  const numbers = found.map(({ step }) => step)
  assert.deepEqual(
    numbers,
    [...new Set(numbers)].toSorted((a, b) => a - b),
  )
  assert.equal(numbers.at(-1), found[0].total_steps)
  return { ended, steps: found }
}

await check('a job of preferences is paused, resumed and read', async () => {
  const asked = { messages: [{ role: 'user', content: 'Who?' }], tools: [], parallel_tool_calls: true }
  const said = (content) => [{ role: 'assistant', content }]
  const row = { input: asked, preferred_output: said('Me.'), non_preferred_output: said('Nobody.') }
  const method = { type: 'dpo', dpo: { hyperparameters: { beta: 0.2, n_epochs: 30, batch_size: 4 } } }
  const { ended, steps } = await pausedOnItsWay(method, [row, row, row, row])
  assert.equal(ended.method.dpo.hyperparameters.beta, 0.2)
  assert.ok(steps.at(-1).train_loss < steps[0].train_loss && 'train_rewards/accuracies' in steps[0])
})

await check('a job of reinforcement is paused, resumed and read', async () => {
  const lines = [0, 1].map((row) => ({ messages: [{ role: 'user', content: `Who is ${row}?` }], name: 'Ann' }))
  const template = { input: '{{sample.output_text}}', reference: '{{item.name}}' }
  const grader = { type: 'text_similarity', name: 'alike', evaluation_metric: 'fuzzy_match', ...template }
  const knobs = { compute_multiplier: 0.5, eval_interval: 'auto', reasoning_effort: 'default', n_epochs: 12 }
  const hyperparameters = { ...knobs, batch_size: 2, max_completion_tokens: 8 }
  const method = { type: 'reinforcement', reinforcement: { grader, hyperparameters } }
  const { ended, steps } = await pausedOnItsWay(method, lines)
  const { reinforcement } = ended.method
  assert.equal(reinforcement.grader.name, 'alike')
  assert.equal(reinforcement.hyperparameters.compute_multiplier, 0.5)
  for (const { train_mean_reward: reward, scores } of steps) {
    assert.ok(reward >= 0 && reward <= 1)
    assert.deepEqual(
      scores.graders.map(({ name }) => name),
      ['alike'],
    )
  }
})

await check('models', async () => {
  const ids = []
  for await (const each of client.models.list()) ids.push(each.id)
  assert.ok(ids.includes(base) && ids.includes(model))
})

await check('refusals are its exceptions', async () => {
  const messages = [{ role: 'user', content: 'a' }]
  const refused = (work) =>
    work.then(
      () => assert.fail('no refusal'),
      (error) => error,
    )
  const store = await refused(client.chat.completions.create({ model: base, messages, store: true }))
  assert.ok(store instanceof OpenAI.BadRequestError && store.param === 'store', String(store))
  assert.ok((await refused(client.models.retrieve('none'))) instanceof OpenAI.NotFoundError)
  const stranger = new OpenAI({ apiKey: 'sk-wrong', maxRetries: 0 })
  assert.ok((await refused(stranger.models.list())) instanceof OpenAI.AuthenticationError)
  const again = await refused(new OpenAI({ maxRetries: 0 }).fineTuning.jobs.resume(id))
  assert.ok(again instanceof OpenAI.ConflictError, String(again))
  const format = { type: 'xml' }
  const xml = await refused(client.chat.completions.create({ model: base, messages, response_format: format }))
  assert.ok(xml instanceof OpenAI.BadRequestError && xml.param.startsWith('response_format'), String(xml))
})

await check('what was made is deleted', async () => {
  assert.equal((await client.models.delete(model)).deleted, true)
  assert.equal((await client.files.delete(training.id)).deleted, true)
})
