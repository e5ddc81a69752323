import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createInference } from '../../src/inference/inference.ts'
import { askedPrompts, tiny } from './support/asked-prompts.ts'
import { createFakeServers } from './support/fake-servers.ts'
import { answerWith, startStubEngine } from './support/stub-engine.ts'

test('a vLLM, which takes no turns, holds three batches of large requests and any account’s single prompt', async () => {
  let running = 0
  let most = 0
  const release: (() => void)[] = []
  const engine = await startStubEngine((body, request, response) => {
    most = Math.max(most, (running += body.prompt.length))
    const answer = () => {
      running -= body.prompt.length
      answerWith(() => 'x')(body, request, response)
    }
    // Until the single prompt comes, no large call is answered.
    if (body.prompt.length > 1 && release.length < 3) release.push(answer)
    else answer()
    if (body.prompt.length === 1) for (const each of release) each()
  })
  const servers = createFakeServers()
  servers.set({ baseModel: tiny.name, state: 'ready', endpoint: engine.endpoint })
  const inference = createInference(servers.dependencies())
  const complete = (accountId: string, count: number) =>
    inference.complete(
      askedPrompts(
        { ...tiny, engine: 'vllm' },
        Array.from({ length: count }, (_, at) => `prompt ${at}`),
        { accountId, sampling: { maxTokens: 4 } },
      ),
    )
  const large = Promise.all([complete('greedy', 10 * tiny.maxBatch), complete('greedy', 10 * tiny.maxBatch)])
  while (release.length < 3) await new Promise(setImmediate)
  await complete('idle', 1)
  await large
  assert.equal(most, 3 * tiny.maxBatch + 1)
})
