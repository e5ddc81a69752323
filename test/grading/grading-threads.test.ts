import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Grader } from '../../src/domain/grader.ts'
import { createGrading } from '../../src/grading/grading-threads.ts'

const graded = [
  { input: '', expected: 'Rome', output: 'rome' },
  { input: '', expected: 'Rome', output: 'Oslo' },
]
const graders: Grader[] = [{ type: 'exact_match' }, { type: 'model', model: 'm' }]

test('scores in a thread, and leaves graders that ask a model to others', async () => {
  const grade = createGrading()
  assert.deepEqual(await grade('a', { graders, graded }), [
    [1, 0],
    [null, null],
  ])
})

test('ends scoring that takes too long, and scores the next answers', async () => {
  const words = Array.from({ length: 60_000 }, (_, at) => `w${at % 7}`).join(' ')
  const endless = { graders: [{ type: 'rouge_l' as const }], graded: [{ input: '', expected: words, output: words }] }
  await assert.rejects(createGrading({ atMostMs: 1 })('a', endless), /took more than 0.001 seconds/)
  assert.equal((await createGrading()('a', { graders, graded }))[0]?.[0], 1)
})
