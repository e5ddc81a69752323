// Tuned models answer as themselves, however they and their base are mixed in one load, and however few find room.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { modelServerToken } from '../../src/domain/model-server-token.ts'
import { connectDatabase } from '../../src/repositories/database.ts'
import { sampleRows } from '../support/rows.ts'
import { connection, homeDir, openAccount, type Api } from '../support/stack.ts'

const facts = sampleRows.slice(0, 8)
const prompts = facts.map(({ input }) => input)
/** Each learns the same questions with other answers. */
const turns = [0, 1, 2]
const taught = (turn: number) => facts.map((_, at) => facts[(at + turn) % facts.length]?.output)

suite('tuned models and their base in one load', () => {
  const { baseModel, databaseUrl } = connection()
  const database = connectDatabase(databaseUrl, { poolSize: 1 })
  const answersAlone = new Map<string, string[]>()
  let api: Api
  let models: string[]

  async function tune(turn: number): Promise<string> {
    const data = taught(turn).map((output, at) => ({ input: prompts[at], output }))
    const id = await api.train({ data, finetune_args: { max_steps: 60, batch_size: 8, seed: turn } })
    return (await api.untilStatus(id, 'COMPLETED')).model_name ?? assert.fail('it has no name')
  }

  async function ask(model_name: string, prompt: string[]): Promise<string[]> {
    const outputs = await api.post<{ output: string }[]>('/v1/completions', { model_name, prompt, max_tokens: 32 })
    return outputs.map(({ output }) => output)
  }

  /** Every prompt of every model in requests of its own; as many at once as there are models, each from one model to the next. */
  const askAllAtOnce = (some: string[]) =>
    Promise.all(
      prompts.flatMap((prompt, at) =>
        some.map(async (_, first) => {
          for (const model of [...some.slice(first), ...some.slice(0, first)])
            assert.deepEqual(await ask(model, [prompt]), [answersAlone.get(model)?.[at]])
        }),
      ),
    )

  async function unloads(): Promise<number> {
    const server = await database.modelServers.findServed(baseModel)
    const { signingSecret } = JSON.parse(readFileSync(join(homeDir, 'secrets.json'), 'utf8')) as {
      signingSecret: string
    }
    const token = modelServerToken(signingSecret, baseModel, server?.generation ?? 0)
    const response = await fetch(`${server?.replicas[0]?.url}/metrics`, {
      headers: { authorization: `Bearer ${token}` },
    })
    return Number(/^anneal_model_server_adapters_evicted_total (\S+)$/m.exec(await response.text())?.[1])
  }

  before(async () => {
    api = await openAccount()
    models = [baseModel, ...(await Promise.all(turns.map(tune)))]
    for (const model of models) answersAlone.set(model, await ask(model, prompts))
  })
  after(() => database.close())

  test('each model answers with its own facts, and no other model does', () => {
    for (const turn of turns)
      models.forEach((model, index) => {
        const right = taught(turn).filter((output, at) => answersAlone.get(model)?.[at]?.trim() === output).length
        assert.ok(index === turn + 1 ? right >= 6 : right <= 2, `${right} of ${turn} by model ${index}`)
      })
  })

  test('two that find room and their base answer together as alone, and stay', async () => {
    const two = models.slice(0, 3)
    for (const model of two) await ask(model, prompts.slice(0, 1))
    const before = await unloads()
    await askAllAtOnce(two)
    assert.equal(await unloads(), before)
  })

  test('three where two find room are unloaded and loaded again, and answer as alone', async () => {
    const before = await unloads()
    await askAllAtOnce(models)
    assert.ok((await unloads()) > before + 1)
  })
})
