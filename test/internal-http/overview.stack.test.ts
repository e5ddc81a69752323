// The overview of operators, on the running stack.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { eventually } from '../support/eventually.ts'
import { createAdmin, createOperator } from '../support/operator.ts'
import { sampleFile } from '../support/rows.ts'
import { connection, createApi } from '../support/stack.ts'

type Overview = {
  attempts: { waiting: number; running: number }
  slots: number | null
  queues: { account_id: string; waiting: number; running: number; waiting_seconds: number }[]
  workers: { reporting: boolean; polling: boolean; pid: number }[]
  model_servers: { base_model: string; state: string; replicas: { adapters: string[] | null }[] }[]
  outbox: { messages: number; age_seconds: number }
}

suite('the overview of operators', async () => {
  const operator = createOperator()
  const account = await operator.openAccount()
  const { key } = await account.makeKey(['inference', 'training', 'data', 'read', 'admin'])
  const api = createApi(key)
  const overview = () => operator.get<Overview>('/overview')

  test('names the workers with their slots, and refuses the key of an account', async () => {
    await eventually(async () =>
      (await overview()).workers.some(({ reporting, polling, pid }) => reporting && polling && pid > 0),
    )
    assert.equal((await overview()).slots, 1)
    assert.equal((await createAdmin(key).request('GET', '/overview')).status, 401)
  })

  test('counts waiting and running jobs of each account, and the adapters of a model server', async () => {
    await api.upload('facts', sampleFile)
    const train = () => api.train({ dataset_id: 'facts', finetune_args: { max_steps: 5, batch_size: 4 } })
    const jobs = [await train(), await train()]
    const mine = async () => (await overview()).queues.find((queue) => queue.account_id === account.id)
    await eventually(async () => {
      const { waiting = 0, running = 0, waiting_seconds: seconds = 0 } = (await mine()) ?? {}
      return waiting + running === 2 && seconds > 0
    })
    await api.request('POST', `/v1/train/jobs/${jobs[1]}/cancel`)
    const { model_name: modelName } = await api.untilStatus(jobs[0] ?? 0, 'COMPLETED')
    assert.ok(modelName !== null)
    await api.post('/v1/completions', { model_name: modelName, prompt: 'Who?', max_tokens: 2 })
    const { model_servers: servers } = await overview()
    const server = servers.find(({ base_model: base }) => base === connection().baseModel)
    assert.ok(server?.replicas.some(({ adapters }) => adapters?.includes(modelName)))
  })
})
