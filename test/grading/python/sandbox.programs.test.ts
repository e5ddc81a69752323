// Graders that are programs of users: what they may not reach, and what their faults cost.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ServiceError } from '../../../src/domain/service-error.ts'
import { gradingRequest } from '../../../src/grading/python/request.ts'
import { quickAttacks } from './hostile-graders.ts'
import { graders, scoresOf, skip, withAttack } from './support.ts'

for (const [name, attack] of Object.entries(quickAttacks))
  test(`a grader that ${name} costs its own sample only`, { skip }, () => withAttack(attack))

test('a score is what the program returns for the sample and its item', { skip }, async () => {
  const source = 'def grade(sample, item): return sample["output_text"] == item["answer"]'
  const samples = [
    gradingRequest({ output_text: 'Ann\u2028' }, { answer: 'Ann\u2028' }),
    gradingRequest({ output_text: 'Bob' }, { answer: 'Ann' }),
  ]
  assert.deepEqual(await scoresOf(source, samples), [{ score: 1 }, { score: 0 }])
})

test('a program that cannot be loaded is refused at its place, with its fault', { skip }, async () => {
  const path = 'grader.graders.short'
  const refused = (source: string) => graders().check('account', [{ grader: { source }, path }])
  await assert.rejects(refused('def grade(:'), ({ issues: [issue] }: ServiceError) => {
    assert.equal(issue?.path, path)
    assert.match(issue.message, /cannot be loaded: .*\n.*def grade[^]*SyntaxError: invalid syntax/)
    return true
  })
  await assert.rejects(refused('x = 1'), /defines no function grade/)
  await assert.rejects(refused('import os\nos._exit(0)'), /The grader's process ended/)
  await refused('def grade(sample, item): return 1')
})

test(
  'every sample of a program that cannot be loaded has that error, and only one process is started',
  { skip },
  async () => {
    const samples = Array.from({ length: 200 }, () => gradingRequest({}, {}))
    const scores = await scoresOf('1 / 0', samples)
    assert.equal(scores.length, 200)
    for (const each of scores) assert.match('error' in each ? each.error : '', /ZeroDivisionError/)
  },
)

test('a stopped request ends the process of its grader', { skip }, async () => {
  const stopping = new AbortController()
  const source = 'def grade(sample, item):\n  while True: pass'
  const scoring = graders({ sampleMs: 600_000 }).score(
    'account',
    { grader: { source }, samples: ['{"sample":{},"item":{}}'] },
    stopping.signal,
  )
  stopping.abort(new Error('stopped'))
  await assert.rejects(scoring, /stopped/)
})
