// An answer of a form whose caller bounds all of its tokens, as OpenAI's max_tokens does.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createInference } from '../../src/inference/inference.ts'
import type { AnswerForm } from '../../src/inference/request.ts'
import { askedPrompts, tiny } from './support/asked-prompts.ts'
import { askedSchema } from './support/asked-schema.ts'
import { createFakeServers } from './support/fake-servers.ts'
import { startStubEngine } from './support/stub-engine.ts'

const whole = '{"n":1234567}'

describe('an answer of a form, of bounded length', async () => {
  // A token is a character.
  const engine = await startStubEngine(({ max_tokens: limit }, request, response) => {
    if (request.url === '/tokenize') return void response.end('{"count": 10}')
    const isWhole = limit > whole.length
    const choice = { index: 0, text: whole.slice(0, limit), finish_reason: isWhole ? 'stop' : 'length' }
    response.end(JSON.stringify({ choices: [choice] }))
  })
  const servers = createFakeServers()
  servers.set({ baseModel: tiny.name, state: 'ready', endpoint: engine.endpoint, generation: 1 })
  const ask = (answer: AnswerForm) =>
    createInference(servers.dependencies()).complete({ ...askedPrompts(tiny, ['How many?']), answer })
  const generations = () => engine.requests.filter(({ max_tokens: limit }) => limit !== undefined)

  it('by a JSON schema is asked for again, shorter, when its tokens run out, and refused when no answer can fit', async () => {
    const schema = askedSchema({ type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] })
    const asked = (maxTokens: number) => ask({ kind: 'schema', schema, maxTokens })
    const before = generations().length
    const { outputs, finishReasons } = await asked(14)
    assert.deepEqual([outputs, finishReasons], [[{ output: whole }], ['stop']])
    assert.equal(generations().length, before + 1)
    assert.deepEqual((await asked(5)).finishReasons, ['length'])
    const grammars = generations()
      .slice(before + 1)
      .map((request) => request.structured_outputs?.grammar)
    assert.equal(new Set(grammars).size, grammars.length)
    const sent = engine.requests.length
    await assert.rejects(asked(2), { code: 'invalid_input', message: /^max_tokens must be at least 3 / })
    assert.equal(engine.requests.length, sent)
  })

  it('by a grammar of the caller never forces text as grammars of the service may', async () => {
    await ask({ kind: 'grammar', grammar: '%llguidance {}\nstart: "a"', maxTokens: 30 })
    assert.equal(generations().at(-1)?.structured_outputs?.grammar, '\n%llguidance {}\nstart: "a"')
  })
})
