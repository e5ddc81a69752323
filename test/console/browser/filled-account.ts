// An account with something on every page of the console.
import assert from 'node:assert/strict'
import { readConnection } from '../../embedded/support/stack-process.ts'
import { eventually } from '../../support/eventually.ts'

type Answer = Record<string, unknown>

async function ask(address: string, token: string, body?: object): Promise<Answer> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const response = await fetch(address, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) })
  assert.equal(response.status, 200, await response.clone().text())
  return (await response.json()) as Answer
}

/** @returns the paths of its pages below /console */
export async function fillAccount(home: string, site: string, account: string): Promise<string[]> {
  const { adminUrl, operatorToken } = readConnection(home) ?? assert.fail('no stack runs')
  const admin = `${adminUrl}/internal/v1/admin`
  const { accounts } = await ask(`${admin}/accounts`, operatorToken)
  const { id } = (accounts as { id: string; name: string }[]).find(({ name }) => name === account) ?? assert.fail()
  const asked = { account_id: id, name: 'filler', scopes: ['read', 'data', 'training', 'inference'] }
  const key = String((await ask(`${admin}/keys`, operatorToken, asked))['key'])
  const model = 'anneal-tiny'
  const post = (path: string, body: object) => ask(site + path, key, body)

  const data = Array.from({ length: 20 }, (_, row) => ({ input: `What is ${row}?`, output: `It is ${row}.` }))
  await post('/v1/local-data', { upload_base_path: 's3', dataset_id: 'pairs', data })
  const { id: batch } = await post('/v1/batch_completions', { model_name: model, prompt: ['One'], max_tokens: 1 })
  const train = (steps: number) =>
    post('/v1/train', { model_name: model, dataset_id: 'pairs', finetune_args: { max_steps: steps } })
  const { job_id: ended } = await train(1)
  const tuned = await eventually(async () => {
    const { status, model_name: name } = await ask(`${site}/v1/train/jobs/${String(ended)}`, key)
    assert.notEqual(status, 'FAILED')
    return status === 'COMPLETED' && String(name)
  }, 'the model of the first job')
  const { job_id: running } = await train(100_000)
  const { id: evaluation } = await post('/v1/evaluations', { models: [model], dataset_id: 'pairs' })
  await eventually(async () => {
    const { links } = await ask(`${site}/v1/batches/${String(batch)}`, key)
    return (links as { result: string | null }).result
  }, 'the result of the batch')
  return [
    ...['jobs', `jobs?selected=${String(running)}`, `jobs/${String(running)}`, `jobs/${String(ended)}`],
    ...['data', 'data/pairs', 'models', `models/${tuned}`, `batches/${String(batch)}`],
    `evaluations/${String(evaluation)}`,
  ]
}
