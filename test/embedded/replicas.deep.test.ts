// A stack whose default model has two servers: what dies with one of them is answered by the other.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { root } from '../../tools/paths.mjs'
import { modelServerToken } from '../../src/domain/model-server-token.ts'
import type { Connection } from '../../src/embedded/connection.ts'
import { stopStack } from '../../src/embedded/stop.ts'
import { makeHome, processesOf, query, startStack, whenReady } from './support/stack-process.ts'
import { eventually } from '../support/eventually.ts'

type Replica = { instance: string; url: string; generation: number }
type CatalogueFile = { models: { name: string; resources: Record<string, number> }[] }

const promptCount = 4000

describe('two servers of one model', () => {
  const home = makeHome()
  let connection: Connection

  before(async () => {
    const { models } = JSON.parse(readFileSync(join(root, 'models.json'), 'utf8')) as CatalogueFile
    for (const model of models.slice(0, 1)) model.resources['replicas'] = 2
    const catalogue = join(home.dir, 'models.json')
    writeFileSync(catalogue, JSON.stringify({ models }))
    const environment = { ANNEAL_CATALOGUE: catalogue, ANNEAL_WARM_MODELS: '1' }
    connection = await whenReady(home.dir, startStack(home.dir, 0, environment))
  })
  after(async () => {
    await stopStack(home.dir, () => {})
    home.remove()
  })

  const replicas = () =>
    query<Replica>(
      connection.databaseUrl,
      `select instance, url, generation from model_server_endpoints join model_servers using (base_model, generation)
       where base_model = '${connection.baseModel}' order by instance`,
    )

  /** Two, but not these. */
  const bothReady = (but: readonly Replica[] = []) =>
    eventually(async () => {
      const both = await replicas()
      return both.length === 2 && both.some(({ url }) => !but.some((old) => old.url === url)) && both
    })

  async function ask(prompts: string[]) {
    const response = await fetch(`${connection.apiUrl}/v1/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${connection.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model_name: connection.baseModel,
        prompt: prompts,
        output_type: { n: 'int', ok: 'bool' },
        temperature: 1,
        seed: 7,
      }),
    })
    const text = await response.text()
    assert.equal(response.status, 200, text)
    return JSON.parse(text) as { n: number; ok: boolean }[]
  }

  async function isBusy({ url, generation }: Replica) {
    const { signingSecret } = JSON.parse(readFileSync(join(home.dir, 'secrets.json'), 'utf8')) as {
      signingSecret: string
    }
    const token = modelServerToken(signingSecret, connection.baseModel, generation)
    const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })
    return Number(/^anneal_model_server_running_rows (\S+)/m.exec(await response.text())?.[1] ?? 0) > 0
  }

  test('both report, each at an address of its own, and share the work', async () => {
    const both = await bothReady()
    assert.equal(new Set(both.map(({ url }) => url)).size, 2)
    const asked = ask(Array.from({ length: 1000 }, (_, at) => `Question ${at}: how many?`))
    await eventually(async () => (await Promise.all(both.map(isBusy))).every(Boolean))
    await asked
  })

  test('a call survives the kill of a replica: each prompt has its typed answer, and the dead replica comes back', async () => {
    const before = await bothReady()
    let isAnswered = false
    const asked = ask(Array.from({ length: promptCount }, (_, at) => `Question ${at}: how many?`)).finally(() => {
      isAnswered = true
    })
    const [dying] = before as [Replica]
    await eventually(() => isBusy(dying))
    for (const pid of processesOf(`ANNEAL_INSTANCE=${dying.instance}`)) process.kill(pid, 'SIGKILL')
    assert.ok(!isAnswered, 'the kill must come in the middle')
    const outputs = await asked
    assert.equal(outputs.length, promptCount)
    for (const { n, ok } of outputs) assert.ok(Number.isSafeInteger(n) && typeof ok === 'boolean')
    const after = await bothReady(before)
    assert.deepEqual(
      after.map(({ instance, generation }) => ({ instance, generation })),
      before.map(({ instance, generation }) => ({ instance, generation })),
      'under its name, in the same launch',
    )
  })
})
