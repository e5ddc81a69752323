// The length of a prompt's path: frames of ours between the route and the engine's socket, as V8 sees them.
import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { mock, test } from 'node:test'
import { createInference } from '../../src/inference/inference.ts'
import { createFakeServers } from '../inference/support/fake-servers.ts'
import { answerWith, startStubEngine } from '../inference/support/stub-engine.ts'
import { startPublic } from './support.ts'

const most = 14

test(`a prompt passes at most ${most} functions between Express and the engine's socket`, async () => {
  const engine = await startStubEngine(answerWith((prompt) => prompt.toUpperCase()))
  const servers = createFakeServers()
  servers.set({ baseModel: 'tiny', state: 'ready', endpoint: engine.endpoint })
  const { call } = await startPublic({ inference: createInference(servers.dependencies()) })
  const stacks = recordStacks(engine.endpoint)
  const ask = (more: object) => call('POST', '/v1/completions', { json: { model_name: 'tiny', prompt: 'a', ...more } })
  assert.deepEqual((await ask({})).json, { output: 'A' })
  for (const frames of stacks) {
    assert.ok(frames.length <= most, frames.join('\n'))
    // Every function awaits the next one, so that V8 can follow.
    assert.match(frames.at(-1) ?? '', /create-app\.ts/)
  }
  assert.equal(stacks.length, 1)
})

/** The frames of src/ at each connection to the engine. */
function recordStacks(endpoint: string): string[][] {
  Error.stackTraceLimit = 100
  const stacks: string[][] = []
  // oxlint-disable-next-line typescript/unbound-method -- applied to its agent below
  const createConnection = Agent.prototype.createConnection
  mock.method(
    Agent.prototype,
    'createConnection',
    function (this: Agent, ...args: Parameters<typeof createConnection>) {
      if (String(args[0].port) === new URL(endpoint).port)
        stacks.push((new Error().stack ?? '').split('\n').filter((line) => line.includes('/src/')))
      return createConnection.apply(this, args)
    },
  )
  return stacks
}
