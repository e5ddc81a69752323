// `anneal mcp` as an assistant uses it: the client of the protocol's SDK over standard input and output, against the real API.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { root } from '../../tools/paths.mjs'
import { connectAssistant } from '../support/assistant.ts'
import { createOperator } from '../support/operator.ts'
import { connection } from '../support/stack.ts'

type Followed = { status: string; has_ended: boolean; model_name: string | null; log: string[] }

const sample = join(root, 'models/samples/products.jsonl')

suite('anneal mcp', async () => {
  const account = await createOperator().openAccount()
  const withKey = async (...scopes: Parameters<typeof account.makeKey>[0]) => {
    const { key } = await account.makeKey(scopes)
    const assistant = await connectAssistant({ ANNEAL_URL: connection().apiUrl, ANNEAL_API_KEY: key })
    after(() => assistant.client.close())
    return assistant
  }
  const assistant = await withKey('inference', 'training', 'data', 'read')
  const reader = await withKey('read')
  const { baseModel } = connection()

  test('goes from a file of rows to a tuned model that is evaluated and asked', async () => {
    const { ask } = assistant
    const { dataset_id: dataset } = await ask<{ dataset_id: string }>('upload_data', { file: sample })
    const checked = await ask<{ report: { state: string; rows: number }; rows: unknown[] }>('check_data', {
      dataset_id: dataset,
      rows: 2,
    })
    assert.deepEqual([checked.report.state, checked.report.rows, checked.rows.length], ['valid', 40, 2])

    const training = { model: baseModel, dataset_id: dataset, name: 'by-assistant', eval_dataset_id: dataset }
    const estimate = await ask<{ steps: number; warnings: string[] }>('dry_run', {
      ...training,
      arguments: { max_steps: 12, max_step: 3 },
    })
    assert.equal(estimate.steps, 12)
    assert.match(estimate.warnings.join(), /max_step.*Did you mean max_steps/)

    const { job_id: text } = await ask<{ job_id: string }>('train', { ...training, arguments: { max_steps: 12 } })
    const job = Number(text)
    let followed: Followed
    do followed = await ask<Followed>('follow', { job_id: job, seconds: 20 })
    while (!followed.has_ended)
    assert.equal(followed.status, 'COMPLETED')
    assert.ok(followed.log.length > 0)

    const answers = await ask<{ model: string; answer: string }[]>('ask', {
      models: [baseModel, 'by-assistant'],
      prompt: 'Question: Where is the Tundra Backpack made? Answer: ',
      max_tokens: 8,
    })
    assert.deepEqual(
      answers.map(({ model, answer }) => [model, typeof answer]),
      [
        [baseModel, 'string'],
        ['by-assistant', 'string'],
      ],
    )
    const evaluation = await ask<{ status: string; comparison: object }>('evaluate', {
      models: [baseModel, 'by-assistant'],
      dataset_id: dataset,
      max_rows: 4,
      max_tokens: 8,
    })
    assert.deepEqual([evaluation.status, Object.keys(evaluation.comparison)], ['COMPLETED', ['by-assistant']])

    const { job_id: other } = await ask<{ job_id: string }>('train', { ...training, arguments: { max_steps: 500 } })
    await ask('cancel', { job_id: Number(other) })
    const compared = await ask<{ arguments: Record<string, number> }[]>('compare', { job_ids: [job, Number(other)] })
    assert.deepEqual(
      compared.map(({ arguments: { max_steps: steps, learning_rate: equal } }) => [steps, equal]),
      [
        [12, undefined],
        [500, undefined],
      ],
    )
    const model = await ask<{ versions: { job_id: number }[] }>('describe', { what: 'model', name: 'by-assistant' })
    assert.deepEqual(
      model.versions.map(({ job_id: id }) => id),
      [job],
    )
    const jobs = await ask<{ job_id: number }[]>('list', { what: 'jobs', status: 'COMPLETED' })
    assert.deepEqual(
      jobs.map(({ job_id: id }) => id),
      [job],
    )
    const { usage } = await ask<{ usage: { model_name: string }[] }>('usage', {})
    assert.ok(usage.some(({ model_name: name }) => name === baseModel))
  })

  test('may do what its key may, and no more', async () => {
    const models = await reader.ask<{ id: string }[]>('list', { what: 'models' })
    assert.ok(models.some(({ id }) => id === baseModel))
    assert.match(
      await reader.refusal('train', { model: baseModel, dataset_id: 'x' }),
      /a key with the scope "training"/,
    )
    assert.match(await reader.refusal('ask', { models: [baseModel], prompt: 'x' }), /a key with the scope "inference"/)
  })
})
