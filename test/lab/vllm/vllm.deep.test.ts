// The real vLLM with our sidecar before it, against our own engine on the same weights: both compute in fp32 and decode
// greedily, so they must give the same answers.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { root } from '../../../tools/paths.mjs'
import { readSchema } from '../../../src/domain/answer-schema/read-schema.ts'
import { fitsSchema } from '../../../src/domain/answer-schema/fits.ts'
import { parseCatalogue, type CatalogueEntry } from '../../../src/domain/catalogue.ts'
import { parseOutputType } from '../../../src/domain/output-type.ts'
import type { Prompt } from '../../../src/domain/prompt.ts'
import type { ReadCall } from '../../../src/domain/tools/call-reader.ts'
import { createInference } from '../../../src/inference/inference.ts'
import type { Adapter } from '../../../src/inference/request.ts'
import type { SampledAnswer } from '../../../src/inference/sample.ts'
import { askedPrompts, type More } from '../../inference/support/asked-prompts.ts'
import { startEngine, type EngineProcess } from '../../inference/support/engine-process.ts'
import { askedSchema } from '../../inference/support/asked-schema.ts'
import { createFakeServers, tokenOf } from '../../inference/support/fake-servers.ts'
import { makeAdapter, serveAdapter } from '../../inference/support/lora-adapter.ts'
import { patienceMs } from '../../support/eventually.ts'
import { startVllm, type VllmProcess } from './support/vllm-process.ts'

const [tiny] = parseCatalogue(JSON.parse(readFileSync(join(root, 'models.json'), 'utf8'))).entries as [CatalogueEntry]
const own = { ...tiny, name: 'own-engine' }
const weights = { path: join(root, 'models/anneal-tiny') }
const onVllm = { ...tiny, name: 'on-vllm', engine: 'vllm' as const, source: weights, maxAdapters: 4 }
const greedy = { maxTokens: 24, temperature: 0, topP: 1, seed: null, stop: [] }
const { signal } = new AbortController()
const prompts = Array.from({ length: 10 }, (_, at) => `Question: What is the price of item ${at * 37}?\nAnswer: `)

describe('the real vLLM behind the sidecar', { timeout: 2 * patienceMs }, () => {
  const servers = createFakeServers()
  const inference = createInference(servers.dependencies())
  const served: Awaited<ReturnType<typeof serveAdapter>>[] = []
  let vllm: VllmProcess
  let agent: EngineProcess
  let engine: EngineProcess

  before(async () => {
    vllm = await startVllm(onVllm)
    served.push(...(await Promise.all([1, 2, 3].map((seed) => serveAdapter(makeAdapter(seed))))))
    ;[agent, engine] = await Promise.all([
      startEngine(onVllm, servers, 1, { ANNEAL_ENGINE_URL: vllm.url }),
      startEngine(own, servers),
    ])
  })
  after(async () => {
    for (const each of served) each.close()
    await Promise.all([agent, engine].map((each) => each?.stop()))
    await vllm?.stop()
  })

  type Asked = More & { prompts?: Prompt[] }
  const ask = (baseModel: CatalogueEntry, { prompts: asked = prompts, ...more }: Asked = {}) =>
    inference.complete(askedPrompts(baseModel, asked, { sampling: greedy, ...more }))
  const both = (more: Asked = {}) => Promise.all([ask(own, more), ask(onVllm, more)])
  const adapterAt = (at: number) => {
    const { name, files } = served[at] ?? assert.fail()
    return { name, files }
  }

  /** To the sidecar, as our API sends it. */
  async function send(method: string, path: string, body?: object) {
    const headers = {
      authorization: `Bearer ${tokenOf(onVllm.name, 1)}`,
      'content-type': 'application/json',
    }
    const response = await fetch(`${agent.endpoint}${path}`, { method, headers, body: JSON.stringify(body) })
    return { status: response.status, text: await response.text() }
  }

  /** Our own engine tells the log-probabilities of these tokens after the prompt. */
  async function logpsOf(model: string, prompt: number[], tokens: number[]) {
    const headers = { authorization: `Bearer ${tokenOf(own.name, 1)}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ model, prompt: [...prompt, ...tokens], max_tokens: 0, echo: true, logprobs: 0 })
    const response = await fetch(`${engine.endpoint}/v1/completions`, { method: 'POST', headers, body })
    const text = await response.text()
    assert.equal(response.status, 200, text)
    const { choices } = JSON.parse(text) as { choices: [{ logprobs: { token_logprobs: number[] } }] }
    return choices[0].logprobs.token_logprobs.slice(prompt.length)
  }

  it('answers as our own engine, the base and three adapters, in text', async () => {
    const answers = new Set<string>()
    for (const adapter of [null, ...[0, 1, 2].map(adapterAt)]) {
      const [wanted, found] = await both({ adapter })
      assert.deepEqual(found, wanted)
      answers.add(JSON.stringify(wanted.outputs))
    }
    assert.equal(answers.size, 4, 'each adapter answers otherwise')
  })

  it('gives the same typed answers, the base and three adapters', async () => {
    const outputType = parseOutputType({ name: 'str', price: 'int', share: 'float', ok: 'bool' })
    for (const adapter of [null, ...[0, 1, 2].map(adapterAt)]) {
      const [wanted, found] = await both({ adapter, outputType, prompts: prompts.slice(0, 5) })
      assert.deepEqual(found.outputs, wanted.outputs)
    }
  })

  it('holds to nested schemas and calls a function', async () => {
    const city = {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'array', items: { type: 'integer' }, maxItems: 3 } },
      required: ['city', 'days'],
      additionalProperties: false,
    }
    const schema = readSchema(city, 'schema')
    const asked = askedSchema(city)
    const found = await ask(onVllm, {
      prompts: prompts.slice(0, 5),
      answer: { kind: 'schema', schema: asked, maxTokens: null },
    })
    for (const { output } of found.outputs) assert.ok(typeof output === 'string' && fitsSchema(schema, output))
    const called = await ask(onVllm, {
      input: {
        kind: 'chat',
        chats: [
          {
            messages: [{ role: 'user', content: 'How is the weather in Oslo?' }],
            tools: [{ name: 'weather', parameters: city }],
            text: '',
          },
        ],
      },
      answer: {
        kind: 'calls',
        maxTokens: 200,
        functions: [{ name: 'weather', schema: asked }],
        ...{ isRequired: true, mayBeSeveral: false, content: null },
      },
    })
    const calls = called.outputs[0]?.['calls'] as unknown as ReadCall[] | undefined
    const call = calls?.[0]
    assert.ok(call && fitsSchema(schema, call.arguments), JSON.stringify(called))
  })

  it('gives the log-probabilities of our own engine, of the answer', async () => {
    type Logprobs = { tokens: string[]; token_logprobs: (number | null)[] }
    const asked = prompts.slice(0, 4)
    for (const [extras, maxTokens] of [[{ logprobs: 2 }, 6]] as const) {
      const [wanted, found] = await both({ prompts: asked, sampling: { ...greedy, maxTokens, extras } })
      assert.deepEqual(found.outputs, wanted.outputs)
      for (const at of asked.keys()) {
        const [ours, theirs] = [wanted.logprobs?.[at], found.logprobs?.[at]] as [Logprobs, Logprobs]
        assert.deepEqual(theirs.tokens, ours.tokens)
        theirs.token_logprobs.forEach((value, token) => {
          const expected = ours.token_logprobs[token] ?? null
          assert.ok(
            value === expected || Math.abs((value ?? 9) - (expected ?? 9)) < 1e-3,
            `${token}: ${value} ${expected}`,
          )
        })
      }
    }
  })

  it('follows the other parameters of sampling as our own engine does', async () => {
    for (const extras of [
      { logit_bias: { '70': 100 } },
      { repetition_penalty: 1.3 },
      { presence_penalty: 1.5, frequency_penalty: 0.5 },
      { include_stop_str_in_output: true },
    ]) {
      const sampling = { ...greedy, extras, stop: 'include_stop_str_in_output' in extras ? ['e'] : [] }
      const [wanted, found] = await both({ sampling })
      assert.deepEqual(found, wanted, JSON.stringify(extras))
    }
    const ids = [[5, 6, 7], [400]]
    const [wanted, found] = await both({ prompts: ids })
    assert.deepEqual(found, wanted)
  })

  it('streams a prompt and a conversation, whole and in order', async () => {
    const messages = [{ role: 'user' as const, content: 'What is the price?' }]
    const input = { kind: 'chat' as const, chats: [{ messages, text: '' }] }
    for (const more of [{ prompts: prompts.slice(0, 1) }, { input }]) {
      const pieces: string[] = []
      const found = await ask(onVllm, { ...more, onText: (piece) => pieces.push(piece) })
      assert.equal(pieces.join(''), found.outputs[0]?.['output'])
      assert.deepEqual(found, await ask(own, more))
    }
  })

  it('names the prompt that is too long, and cuts an answer to the room that its prompt leaves', async () => {
    const long = 'The price of the lamp is nine. '.repeat(400)
    for (const outputType of [null, parseOutputType({ price: 'int' })])
      await assert.rejects(ask(onVllm, { prompts: ['short', long], outputType }), (error: Error) => {
        assert.match(error.message, /position 1/)
        return true
      })
    const fits = 'The price of the lamp is nine. '.repeat(50)
    const [wanted, found] = await both({ prompts: [fits], sampling: { ...greedy, maxTokens: 1000 } })
    assert.deepEqual(found, wanted)
  })

  it('refuses an unsound adapter, answers 404 for an unknown adapter, and reloads a dropped adapter', async () => {
    const files = makeAdapter(9)
    const config = JSON.parse(String(files.get('adapter_config.json'))) as object
    const unsound = {
      'other rank': new Map([...files, ['adapter_config.json', Buffer.from(JSON.stringify({ ...config, r: 3 }))]]),
      'another module': renamed(files, 'self_attn.o_proj', 'self_attn.x_proj'),
      'no weights': new Map([...files, ['adapter_model.safetensors', Buffer.from('none')]]),
    }
    for (const [what, each] of Object.entries(unsound)) {
      const wrong = await serveAdapter(each)
      await assert.rejects(
        ask(onVllm, { adapter: { name: wrong.name, files: wrong.files } }),
        { code: 'unavailable', message: /could not be loaded/ },
        what,
      )
      wrong.close()
    }
    assert.equal((await send('POST', '/v1/completions', { model: 'unknown', prompt: 'a' })).status, 404)
    const adapter = adapterAt(0)
    const before = await ask(onVllm, { adapter })
    assert.equal((await send('DELETE', `/agent/v1/adapters/${adapter.name}`)).status, 200)
    const models = JSON.parse((await send('GET', '/v1/models')).text) as { data: { id: string }[] }
    assert.ok(!models.data.some(({ id }) => id === adapter.name))
    assert.deepEqual(await ask(onVllm, { adapter }), before)
  })

  it('serves more adapters than find room, however many ask at once', async () => {
    const more = await Promise.all([11, 12, 13, 14].map((seed) => serveAdapter(makeAdapter(seed))))
    const asked = { prompts: prompts.slice(0, 3), sampling: { ...greedy, maxTokens: 8 } }
    const adapters = [...served, ...more].map(({ name, files }) => ({ name, files }))
    const wanted = await Promise.all(adapters.map((adapter) => ask(own, { ...asked, adapter })))
    for (const round of [1, 2])
      assert.deepEqual(
        await Promise.all(adapters.map((adapter) => ask(onVllm, { ...asked, adapter }))),
        wanted,
        `round ${round}`,
      )
    for (const each of more) each.close()
  })

  it('draws the answers of a training by the log-probabilities of our own engine, and drops the policy', async () => {
    const prompt = Array.from(Buffer.from('Say: '), (byte) => byte + 3)
    const draw = async (adapter: Adapter | null, streams: number[]) => {
      const answers = streams.map((stream) => ({ prompt, maxTokens: 12, seed: String(2n ** 62n + BigInt(stream)) }))
      const drawn = new Map<number, SampledAnswer>()
      const onAnswer = (place: number, answer: SampledAnswer) => void drawn.set(place, answer)
      const distribution = { temperature: 1, topP: 1, grammar: null }
      await inference.sample({
        baseModel: onVllm,
        adapter,
        accountId: 'one',
        signal,
        answers,
        ...distribution,
        onAnswer,
      })
      return streams.map((_, place) => drawn.get(place) ?? assert.fail(`no answer ${place}`))
    }
    const streams = Array.from({ length: 24 }, (_, stream) => stream)
    for (const [adapter, model] of [
      [null, own.name],
      [{ name: 'policy-7-3', files: adapterAt(0).files }, adapterAt(0).name],
    ] as const) {
      if (adapter) await ask(own, { adapter: adapterAt(0) })
      const drawn = await draw(adapter, streams)
      assert.ok(new Set(drawn.map(({ tokens }) => tokens.join())).size > 12, 'each answer has a stream of its own')
      assert.deepEqual(
        (await draw(adapter, streams.slice(3, 6))).map(({ tokens }) => tokens),
        drawn.slice(3, 6).map(({ tokens }) => tokens),
      )
      for (const { tokens, logps } of drawn) {
        const wanted = await logpsOf(model, prompt, tokens)
        logps.forEach((logp, at) => assert.ok(Math.abs(logp - (wanted[at] ?? 9)) < 1e-3, `${logp}, not ${wanted[at]}`))
      }
    }
    assert.equal((await send('DELETE', '/agent/v1/adapters/policy-7-3')).status, 200)
  })

  it('says that it has no embeddings', async () => {
    const asked = { accountId: 'one', adapter: null, signal, texts: ['a'], onLong: 'refuse' as const }
    await assert.rejects(inference.embed({ ...asked, baseModel: onVllm }), {
      code: 'invalid_input',
      message: /gives no embeddings/,
    })
  })
})

/** The same adapter with other names of its weights. */
function renamed(files: Map<string, Buffer>, from: string, to: string): Map<string, Buffer> {
  const replace = (bytes: Buffer) => Buffer.from(bytes.toString('latin1').replaceAll(from, to), 'latin1')
  const config = String(files.get('adapter_config.json')).replace('o_proj', 'x_proj')
  return new Map([
    ['adapter_model.safetensors', replace(files.get('adapter_model.safetensors') ?? Buffer.alloc(0))],
    ['adapter_config.json', Buffer.from(config)],
  ])
}
