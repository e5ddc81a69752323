// kill -9 of the sidecar and of the real vLLM in the middle of an answer: the request that waits is answered all the same.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { root } from '../../../tools/paths.mjs'
import { parseCatalogue, type CatalogueEntry } from '../../../src/domain/catalogue.ts'
import { createInference } from '../../../src/inference/inference.ts'
import { askedPrompts } from '../../inference/support/asked-prompts.ts'
import { startEngine, type EngineProcess } from '../../inference/support/engine-process.ts'
import { createFakeServers } from '../../inference/support/fake-servers.ts'
import { makeAdapter, serveAdapter } from '../../inference/support/lora-adapter.ts'
import { patienceMs, until } from '../../support/eventually.ts'
import { startVllm, type VllmProcess } from './support/vllm-process.ts'

const [tiny] = parseCatalogue(JSON.parse(readFileSync(join(root, 'models.json'), 'utf8'))).entries as [CatalogueEntry]
const source = { path: join(root, 'models/anneal-tiny') }
const onVllm = { ...tiny, name: 'on-vllm', engine: 'vllm' as const, source }
const prompts = Array.from({ length: 4 }, (_, at) => `Question: What is the price of item ${at * 37}?\nAnswer: `)

describe('a killed vLLM or sidecar', { timeout: 2 * patienceMs }, () => {
  const servers = createFakeServers()
  const inference = createInference(servers.dependencies())
  let served: Awaited<ReturnType<typeof serveAdapter>>
  let vllm: VllmProcess
  let agent: EngineProcess
  let generation = 0

  const startAgent = () => startEngine(onVllm, servers, ++generation, { ANNEAL_ENGINE_URL: vllm.url })
  // No end of text, so that a kill finds the answer under way.
  const sampling = { maxTokens: 300, temperature: 0, topP: 1, extras: { logit_bias: { 2: -100 } } }
  const ask = () => {
    const adapter = { name: served.name, files: served.files }
    return inference.complete(askedPrompts(onVllm, prompts, { adapter, sampling }))
  }

  before(async () => {
    served = await serveAdapter(makeAdapter(1))
    vllm = await startVllm(onVllm)
    agent = await startAgent()
  })
  after(async () => {
    served.close()
    await agent?.stop()
    await vllm?.stop()
  })

  it('loses no answer: a new sidecar finds the adapters that vLLM still holds, and a sidecar ends with its vLLM', async () => {
    const wanted = await ask()
    const beside = ask()
    await until('vLLM works', isWorking)
    await agent.stop('SIGKILL')
    agent = await startAgent()
    assert.deepEqual(await beside, wanted)

    const without = ask()
    await until('vLLM works', isWorking)
    process.kill(vllm.pid, 'SIGKILL')
    assert.equal(await agent.ended, 70)
    await Promise.all([agent.stop(), vllm.stop()])
    vllm = await startVllm(onVllm)
    agent = await startAgent()
    assert.deepEqual(await without, wanted)
  })

  async function isWorking(): Promise<boolean> {
    const metrics = await (await fetch(`${vllm.url}/metrics`)).text()
    return Number(/^vllm:num_requests_running\S* (\S+)$/m.exec(metrics)?.[1] ?? assert.fail(metrics)) > 0
  }
})
