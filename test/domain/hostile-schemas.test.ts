// Schemas of users whose parts multiply. Steps are counted instead of time where that is enough.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fitsSchema } from '../../src/domain/answer-schema/fits.ts'
import { leastBytes } from '../../src/domain/answer-schema/least-bytes.ts'
import { readSchema } from '../../src/domain/answer-schema/read-schema.ts'
import { readSchemas } from '../../src/domain/answer-schema/read-schemas.ts'
import { TooMuchWork } from '../../src/domain/answer-schema/steps.ts'
import { newWork, workAtOnce } from '../../src/domain/answer-schema/work.ts'
import { ServiceError } from '../../src/domain/service-error.ts'
import * as hostile from '../support/hostile-schemas.ts'
import { processorMs } from '../support/processor-time.ts'

/** Ten times what the work at once takes on a slow machine. */
const atOnceMs = 200

const schemas: Record<string, object> = {
  'large patterns': hostile.patterns(300),
  'patterns of each item': hostile.patternsOfItems(50),
  'references in the wrong order': hostile.backwardChain(700, 7000),
  'two references at each level': hostile.branching(22),
  'ranges of decimal numbers': hostile.ranges(900),
  'alternatives that have to be told apart': hostile.disjointObjects(40, 40),
  'many required properties': hostile.manyProperties(1900),
  'a long name above many parts': hostile.longName(40_000, 1900),
  'a recursive schema with many fields': hostile.recursive(900),
  'wide classes': hostile.wideClasses(20),
  'long values': hostile.longValues(900, 60),
}

const stepsOf = (most: number, run: (work: { left: number }) => unknown) => {
  const work = { left: most }
  run(work)
  return most - work.left
}
const readOrRefuse = (schema: object, work: ReturnType<typeof newWork>) => {
  try {
    return readSchema(schema, 'schema', work)
  } catch (error) {
    assert.ok(error instanceof ServiceError && error.code === 'invalid_input', String(error))
    return error
  }
}

describe('a schema of many parts', () => {
  for (const [name, schema] of Object.entries(schemas)) {
    it(`takes the event loop only a moment: ${name}`, () => {
      const ms = processorMs(() => readOrRefuse(schema, workAtOnce()))
      assert.ok(ms < atOnceMs, `${ms} ms`)
    })

    it(`is read in the end, or refused at one of its parts: ${name}`, () => {
      const read = readOrRefuse(schema, newWork())
      if (read instanceof ServiceError) assert.match(read.issues[0]?.path ?? '', /^schema#/)
    })
  }

  it('is refused where the automata of its patterns are too large together, at the pattern', () => {
    const error = readOrRefuse(hostile.patterns(400), newWork())
    assert.ok(error instanceof TooMuchWork)
    assert.match(
      error.message,
      /^schema#\/properties\/p\d+ makes the schemas of the request too large to read: use fewer/,
    )
  })

  it('needs one automaton for a pattern that many strings have', () => {
    const strings = Array.from({ length: 1000 }, (_, index) => [`p${index}`, { type: 'string', pattern: '^a{0,900}$' }])
    const schema = { type: 'object', properties: Object.fromEntries(strings) as object }
    assert.ok(!(readOrRefuse(schema, newWork()) instanceof ServiceError))
  })

  it('is measured in steps that grow with its parts in any order', () => {
    const chain = readSchema(hostile.backwardChain(700, 2000), 'schema')
    assert.ok(stepsOf(1e9, (work) => leastBytes(chain, undefined, work)) < 20 * chain.nodes.length + 2000)
  })
})

describe('the check of an answer', () => {
  it('takes no more steps than the characters of the answer times the states of the patterns', () => {
    const schema = readSchema(hostile.patternsOfItems(10), 'schema')
    const rules = schema.nodes.flatMap((node) => (node.kind === 'string' ? node.rules : []))
    const states = rules.reduce((sum, { automaton }) => sum + automaton.states.length, 0)
    for (const length of [40, 400]) {
      const answer = JSON.stringify(Array.from({ length: 20 }, (_, index) => `${index}Zqé`.repeat(length / 4)))
      assert.ok(stepsOf(1e9, (work) => assert.ok(fitsSchema(schema, answer, work))) < answer.length * states)
    }
  })

  it('looks at each value once for each part of the schema, however many ways lead there', () => {
    const schema = readSchema(hostile.branching(22), 'schema')
    assert.ok(stepsOf(1e6, (work) => assert.ok(fitsSchema(schema, '1234', work))) < 2000)
  })

  it('stops when its steps are used up', () => {
    const schema = readSchema(hostile.patternsOfItems(50), 'schema')
    const answer = JSON.stringify(Array.from({ length: 64 }, () => 'Zqé '.repeat(12)))
    assert.throws(() => fitsSchema(schema, answer, workAtOnce('check')), TooMuchWork)
  })
})

describe('the schemas of a request', () => {
  const inThread = () => assert.fail('no thread')
  const many = (count: number, schema: object) =>
    Array.from({ length: count }, (_, index) => ({ at: `tools[${index}]`, schema }))

  it('are read at once where they are small, in the order of the request', async () => {
    const read = await readSchemas(many(20, { type: 'object', properties: { n: { type: 'integer' } } }), inThread)
    assert.deepEqual(
      read.map(({ at, parts }) => [at, parts?.nodes.length]),
      Array.from({ length: 20 }, (_, index) => [`tools[${index}]`, 2]),
    )
  })

  it('are left to a thread where they are large together, though each is small', async () => {
    const asked: string[] = []
    const read = await readSchemas(many(100, hostile.manyProperties(60)), async (schemas) => {
      asked.push(...schemas.map(({ at }) => at))
    })
    assert.equal(asked.length, 100)
    assert.ok(read.every(({ parts, text }) => parts === null && text.startsWith('{"type":"object"')))
  })

  it('are refused before they are written as JSON where they are too long together', async () => {
    const long = { type: 'object', description: 'd'.repeat(90_000) }
    await assert.rejects(readSchemas(many(12, long), inThread), {
      code: 'invalid_input',
      message: 'tools[11]# brings the schemas of the request to more than 1000000 characters of JSON.',
    })
  })
})
