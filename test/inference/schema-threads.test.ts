import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AskedSchema } from '../../src/domain/answer-shape.ts'
import { ServiceError } from '../../src/domain/service-error.ts'
import { callFormat } from '../../src/domain/tools/call-format.ts'
import { TooComplex } from '../../src/inference/answer-grammar/rules.ts'
import { usual } from '../../src/inference/answer-grammar/write-grammar.ts'
import { createSchemaThreads } from '../../src/inference/schema-threads.ts'
import * as hostile from '../support/hostile-schemas.ts'
import { askedSchema } from './support/asked-schema.ts'

const asker = { accountId: 'one', signal: new AbortController().signal }
const large = (schema: object): AskedSchema => askedSchema(schema, { isLarge: true })
const item = {
  type: 'object',
  properties: { n: { type: 'integer' }, when: { type: 'string', format: 'date' }, of: { enum: ['red', 'white'] } },
  required: ['n'],
}

/** Ten times what a thread's questions and answers take on a slow machine. */
const questionsMs = 200

async function mainThreadMs(work: () => Promise<unknown>): Promise<number> {
  const before = process.threadCpuUsage()
  await work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}

describe('work on large schemas', () => {
  const threads = createSchemaThreads()

  it('gives the same result in a thread as at once', async () => {
    for (const schema of [askedSchema(item), large(item)]) {
      const shape = { kind: 'schema' as const, schema }
      assert.equal(await threads.run(asker, 'leastOfAnswer', shape, null), 3)
      assert.equal((await threads.run(asker, 'planTries', shape, 200)).length, 3)
      assert.equal(await threads.run(asker, 'fitsAnswer', shape, '{"n":1,"when":"2026-11-27"}'), true)
      assert.equal(await threads.run(asker, 'fitsAnswer', shape, '{"n":1,"when":"2026-02-30"}'), false)
    }
    const [small, big] = [askedSchema(item), large(item)].map((schema) =>
      threads.run(asker, 'writeAnswer', { kind: 'schema', schema }, { tokens: 100, prices: usual }),
    )
    assert.equal(await small, await big)
    const format = callFormat('hermes', null)
    const calls = [askedSchema(item), large(item)].map((schema) =>
      threads.run(
        asker,
        'writeCalls',
        { kind: 'calls', functions: [{ name: 'f', schema }], isRequired: true, mayBeSeveral: true, content: schema },
        { format, tokens: 400 },
      ),
    )
    assert.equal(await calls[0], await calls[1])
  })

  it('leaves the event loop free, also where the schema is small and the answer takes long to check', async () => {
    const schema = askedSchema(hostile.patternsOfItems(50))
    const answer = JSON.stringify(Array.from({ length: 64 }, () => 'Zqé '.repeat(12)))
    const shape = { kind: 'schema' as const, schema }
    const ms = await mainThreadMs(async () => {
      await threads.read([large(hostile.ranges(900))], asker)
      await threads.read([large(hostile.disjointObjects(40, 40))], asker)
      assert.equal(await threads.run(asker, 'fitsAnswer', shape, answer), true)
    })
    assert.ok(ms < questionsMs, `${ms} ms`)
  })

  it('is refused by the path of the part that is too large, and the thread goes on', async () => {
    const read = threads.read([large(item), large(hostile.patterns(400))], asker)
    await assert.rejects(read, (error) => {
      assert.ok(error instanceof ServiceError && error.code === 'invalid_input')
      assert.match(error.issues[0]?.path ?? '', /^schema#\/properties\/p\d+$/)
      return true
    })
    await threads.read([large(item)], asker)
  })

  it('is too complex where its grammar is longer than the engine takes', async () => {
    const shape = { kind: 'schema' as const, schema: large(hostile.wideClasses(20)) }
    await assert.rejects(threads.run(asker, 'writeAnswer', shape, { tokens: 20_000, prices: usual }), TooComplex)
  })

  it('ends when it takes too long', async () => {
    const hasty = createSchemaThreads({ atMostMs: 1 })
    const read = hasty.read([large(hostile.disjointObjects(40, 40))], asker)
    await assert.rejects(read, { code: 'invalid_input', message: /^schema takes too long to read: use fewer/ })
  })

  it('gives up its place when the request ends', async () => {
    const gone = { accountId: 'one', signal: AbortSignal.abort(new Error('gone')) }
    await assert.rejects(threads.read([large(item)], gone), /gone/)
  })
})
