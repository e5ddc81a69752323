// Programs as graders, with processes that are not real: what their ends cost, and what their answers are worth.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { graderImages } from '../../../src/domain/python-grader.ts'
import type { Answer } from '../../../src/grading/python/grader-process.ts'
import type { Sandbox } from '../../../src/grading/python/sandbox.ts'
import { createPythonGraders } from '../../../src/grading/python/python-graders.ts'
import { root } from '../../../tools/paths.mjs'

const grader = { source: 'x' }
const { signal } = new AbortController()

/** `answer`: to a sample, by its text and the samples that the process has had. */
function fake(answer: (sample: string, before: readonly string[]) => Answer | Promise<Answer>) {
  const opened: string[][] = []
  let ended = 0
  const use: Sandbox['use'] = async (_asked, work) => {
    const had: string[] = []
    opened.push(had)
    let isLoaded = false
    const done = await work({
      async ask(line) {
        if (!isLoaded) {
          isLoaded = true
          return { line: '{"ready": true}' }
        }
        const given = await answer(line, had)
        had.push(line)
        return given
      },
    })
    ended++
    return done
  }
  const programsOf: Sandbox['programsOf'] = () => Promise.resolve({ limit: 2, used: 0, where: 'process' })
  return { opened, ended: () => ended, graders: createPythonGraders({ sandbox: { use, programsOf } }) }
}

test('a process that ends costs the sample that it began with, and no other', async () => {
  const { opened, ended, graders } = fake((sample, before) =>
    sample === 'b' || before.includes('d') ? { gone: 'ended' } : { line: '{"score": 1}' },
  )
  const scores = await graders.score('account', { grader, samples: ['a', 'b', 'c', 'd', 'e'] }, signal)
  assert.deepEqual(scores, [{ score: 1 }, { error: 'ended' }, { score: 1 }, { score: 1 }, { score: 1 }])
  assert.deepEqual(opened, [['a', 'b'], ['b'], ['c', 'd', 'e'], ['e']])
  assert.equal(ended(), opened.length)
})

test('a sample whose pod is lost is asked again, and has an error the second time', async () => {
  const lost = { gone: 'lost', isLost: true } as const
  const once = new Set<string>()
  const { opened, graders } = fake((sample) => {
    const isFirst = !once.has(sample)
    once.add(sample)
    return sample === 'b' || (sample === 'a' && isFirst) ? lost : { line: '{"score": 1}' }
  })
  const scores = await graders.score('account', { grader, samples: ['a', 'b', 'c'] }, signal)
  assert.deepEqual(scores, [{ score: 1 }, { error: 'lost' }, { score: 1 }])
  assert.equal(opened.length, 5)
})

test('what is no finite number and no error is an error', async () => {
  const lines = [
    '{"score": "1"}',
    '{"score": 1e999}',
    '{"score": null}',
    '[1]',
    '1',
    'x',
    '{"ready": true}',
    '{"error": 1}',
  ]
  const { graders } = fake((sample) => ({ line: sample }))
  for (const each of await graders.score('account', { grader, samples: lines }, signal))
    assert.deepEqual(each, { error: 'The grader wrote to the channel of its results.' })
  const long = `{"error": "${'é'.repeat(5000)}\\u0000"}`
  const [cut] = await graders.score('account', { grader, samples: [long] }, signal)
  assert.ok(cut && 'error' in cut && Buffer.byteLength(cut.error) <= 4100 && !cut.error.includes('\0'))
})

test('the packages of the newest image are those that set-up installs', () => {
  const pinned = readFileSync(join(root, 'runtime/graders/requirements.in'), 'utf8').matchAll(/^([\w-]+)==(\S+)$/gm)
  assert.deepEqual(
    Object.values(graderImages).at(-1),
    Object.fromEntries([...pinned].map(([, name, is]) => [name, is])),
  )
})
