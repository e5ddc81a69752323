import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseOutputType } from '../../src/domain/output-type.ts'
import { createAdapterLoader } from '../../src/inference/adapters.ts'
import { EngineLost } from '../../src/inference/engine-client.ts'
import { createInference } from '../../src/inference/inference.ts'
import { askedPrompts, tiny } from './support/asked-prompts.ts'
import { createFakeServers, replicaAt, tokenOf, type FakeServers } from './support/fake-servers.ts'
import { answerWith, refuseWith, startStubEngine } from './support/stub-engine.ts'

const signal = new AbortController().signal
const echo = answerWith((prompt) => `to ${prompt}`)

const ask = (
  servers: FakeServers,
  prompts: string[],
  more: { outputType?: unknown; coldStartTimeoutMs?: number; answerTimeoutMs?: number } = {},
) =>
  createInference(servers.dependencies(more)).complete(
    askedPrompts(tiny, prompts, { outputType: parseOutputType(more.outputType) }),
  )

const serve = (servers: FakeServers, endpoint: string, generation = 1) =>
  servers.set({ baseModel: tiny.name, state: 'ready', endpoint, generation })

describe('an engine that fails', () => {
  it('is waited for: unfinished prompts alone are sent again, to its successor', async () => {
    const second = await startStubEngine(echo)
    const servers = createFakeServers(() => setTimeout(() => serve(servers, second.endpoint, 2), 300))
    let answered = 0
    const first = await startStubEngine((body, request, response) => {
      if (++answered > 2) request.socket.destroy()
      else echo(body, request, response)
    })
    serve(servers, first.endpoint)
    const prompts = Array.from({ length: 500 }, (_, at) => `prompt ${at}`)
    const { outputs } = await ask(servers, prompts)
    assert.deepEqual(
      outputs.map(({ output }) => output),
      prompts.map((prompt) => `to ${prompt}`),
    )
    const again = second.requests.flatMap(({ prompt }) => prompt)
    assert.equal(again.length, prompts.length - 2 * tiny.maxBatch)
  })

  it('is given up when it dies of the same prompts again and again', async () => {
    const engine = await startStubEngine((_body, request) => request.socket.destroy())
    const servers = createFakeServers()
    serve(servers, engine.endpoint)
    await assert.rejects(ask(servers, ['poison']), { code: 'unavailable' })
    assert.equal(engine.requests.length, 4)
  })

  it('is given up when no new engine reports in time', async () => {
    const servers = createFakeServers()
    serve(servers, 'http://127.0.0.1:1')
    await assert.rejects(ask(servers, ['hello'], { coldStartTimeoutMs: 500 }), { code: 'unavailable' })
    assert.equal(servers.wakes.length, 1)
  })

  it('is not mistaken for another server at its old address', async () => {
    const servers = createFakeServers(() => setTimeout(() => serve(servers, mine.endpoint, 2), 100))
    const mine = await startStubEngine((body, request, response) => {
      assert.equal(request.headers.authorization, `Bearer ${tokenOf(tiny.name, 2)}`)
      echo(body, request, response)
    })
    const foreign = await startStubEngine(refuseWith(401, { message: 'The token is missing or wrong.' }))
    serve(servers, foreign.endpoint)
    assert.deepEqual((await ask(servers, ['hello'])).outputs, [{ output: 'to hello' }])
  })

  it('may fail a batch for a while, but its refusals reach the caller', async () => {
    let failures = 0
    const engine = await startStubEngine((body, request, response) => {
      if (body.prompt[0] === 'bad')
        refuseWith(400, { message: 'no', param: 'prompt', index: 1 })(body, request, response)
      else if (++failures <= 2) refuseWith(500, { message: 'batch failed' })(body, request, response)
      else echo(body, request, response)
    })
    const servers = createFakeServers()
    serve(servers, engine.endpoint)
    assert.deepEqual((await ask(servers, ['good'])).outputs, [{ output: 'to good' }])
    await assert.rejects(ask(servers, ['bad', 'worse']), { code: 'invalid_input', message: /position 1 is too long/ })
  })

  it('is not asked about a prompt that no context can hold', async () => {
    const endless = 'a'.repeat(1_000_000)
    const engine = await startStubEngine(echo)
    const servers = createFakeServers()
    serve(servers, engine.endpoint)
    for (const outputType of [null, { n: 'int' }])
      await assert.rejects(ask(servers, ['good', endless], { outputType }), { message: /position 1 is too long/ })
    assert.equal(engine.requests.length, 0)
  })

  it('does not explain its grammars to callers', async () => {
    const engine = await startStubEngine(
      refuseWith(400, { message: 'The regex is long.', param: 'structured_outputs' }),
    )
    const servers = createFakeServers()
    serve(servers, engine.endpoint)
    await assert.rejects(ask(servers, ['a'], { outputType: { n: 'int' } }), {
      code: 'invalid_input',
      message: /^output_type is too complex/,
    })
  })
})

describe('an engine that dies beside another', () => {
  const prompts = Array.from({ length: 1000 }, (_, at) => `prompt ${at}`)
  const expected = prompts.map((prompt) => ({ output: `to ${prompt}` }))

  it('costs no answer and no wait: its unfinished prompts go to the other engine', async () => {
    const stays = await startStubEngine(echo)
    let answered = 0
    const dies = await startStubEngine((body, request, response) => {
      if (++answered > 2) request.socket.destroy()
      else echo(body, request, response)
    })
    const servers = createFakeServers()
    servers.set({
      baseModel: tiny.name,
      state: 'ready',
      replicas: [replicaAt(stays.endpoint), replicaAt(dies.endpoint)],
    })
    assert.deepEqual((await ask(servers, prompts)).outputs, expected)
    const again = stays.requests.flatMap(({ prompt }) => prompt)
    assert.equal(again.length, prompts.length - 2 * tiny.maxBatch, 'finished prompts are not asked again')
    assert.ok(dies.requests.length <= 2 + 4, 'it is passed over once it is lost')
  })

  it('and is not reached at all is passed over', async () => {
    const stays = await startStubEngine(echo)
    const servers = createFakeServers()
    servers.set({
      baseModel: tiny.name,
      state: 'ready',
      replicas: [replicaAt('http://127.0.0.1:1'), replicaAt(stays.endpoint)],
    })
    assert.deepEqual((await ask(servers, prompts)).outputs, expected)
  })
})

describe('an engine that hangs', () => {
  it('ends the request in time with the next step, and cancels the call to the engine', async ({ mock }) => {
    mock.timers.enable({ apis: ['setTimeout'] })
    const [asked, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const engine = await startStubEngine((_body, _request, response) => {
      response.once('close', () => left.resolve())
      asked.resolve()
    })
    const servers = createFakeServers()
    serve(servers, engine.endpoint)
    const refused = assert.rejects(ask(servers, ['hello'], { coldStartTimeoutMs: 0, answerTimeoutMs: 50 }), {
      code: 'unavailable',
      message: /gave no output .* Send the request again/,
    })
    await asked.promise
    mock.timers.tick(50)
    await refused
    await left.promise
    assert.equal(engine.requests.length, 1, 'it is not asked the same again')
  })

  it('over an adapter is lost to its callers, and asked again by the next', async ({ mock }) => {
    // Node's types do not know this timer yet.
    mock.timers.enable({ apis: ['AbortSignal.timeout' as 'setTimeout'] })
    let isHung = true
    const asked = Promise.withResolvers<void>()
    const engine = await startStubEngine((_body, _request, response) => {
      if (!isHung) response.end('{}')
      asked.resolve()
    })
    const replica = { ...replicaAt(engine.endpoint), baseModel: tiny.name, generation: 1, token: '' }
    const adapter = { name: 'tuned', files: () => Promise.resolve([]) }
    const adapters = createAdapterLoader(undefined, 2000)
    const lost = assert.rejects(adapters.ensure(replica, adapter, signal), EngineLost)
    await asked.promise
    mock.timers.tick(2000)
    await lost
    isHung = false
    await adapters.ensure(replica, adapter, signal)
  })
})

describe('a typed answer that does not hold', () => {
  const outputType = { n: 'int' }

  it('is asked for again, alone', async () => {
    let rounds = 0
    const engine = await startStubEngine((body, request, response) => {
      rounds += 1
      answerWith((prompt) => (rounds === 1 && prompt === 'b' ? '{"n":' : '{"n":7}'))(body, request, response)
    })
    const servers = createFakeServers()
    serve(servers, engine.endpoint)
    assert.deepEqual((await ask(servers, ['a', 'b', 'c'], { outputType })).outputs, [{ n: 7 }, { n: 7 }, { n: 7 }])
    assert.deepEqual(
      engine.requests.map(({ prompt }) => prompt),
      [['a', 'b', 'c'], ['b']],
    )
  })

  it('is an error in the end, never an answer', async () => {
    const engine = await startStubEngine(answerWith(() => '{"n":"7"}'))
    const servers = createFakeServers()
    serve(servers, engine.endpoint)
    await assert.rejects(ask(servers, ['a', 'b'], { outputType }), /answers that its grammar forbids/)
  })
})
