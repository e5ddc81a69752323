import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SamplingExtras } from '../../src/domain/sampling-extras.ts'
import { createInference } from '../../src/inference/inference.ts'
import { askedPrompts, tiny } from './support/asked-prompts.ts'
import { createFakeServers } from './support/fake-servers.ts'
import { answerWith, startStubEngine } from './support/stub-engine.ts'

test('an answer of the engine holds few enough log probabilities to be parsed at once', async () => {
  const sizes: number[] = []
  const engine = await startStubEngine((body, request, response) => {
    sizes.push(body.prompt.length)
    answerWith(() => 'x')(body, request, response)
  })
  const servers = createFakeServers()
  servers.set({ baseModel: tiny.name, state: 'ready', endpoint: engine.endpoint })
  const inference = createInference(servers.dependencies())
  const rowsOfCalls = async (maxTokens: number, extras: SamplingExtras | null) => {
    sizes.length = 0
    const prompts = Array.from({ length: tiny.maxBatch }, () => 'Who?')
    const { outputs } = await inference.complete(askedPrompts(tiny, prompts, { sampling: { maxTokens, extras } }))
    assert.equal(outputs.length, prompts.length)
    return Math.max(...sizes)
  }
  assert.equal(await rowsOfCalls(1000, null), tiny.maxBatch)
  assert.equal(await rowsOfCalls(16, { logprobs: 20 }), tiny.maxBatch)
  assert.equal(await rowsOfCalls(500, { logprobs: 20 }), 4)
  assert.equal(await rowsOfCalls(1000, { logprobs: 0, echo: true }), Math.floor(50_000 / tiny.contextLength))
})
