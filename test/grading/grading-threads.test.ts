import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Grader } from '../../src/domain/grader.ts'
import type { ServiceError } from '../../src/domain/service-error.ts'
import { createGrading } from '../../src/grading/grading-threads.ts'

const graded = [
  { input: '', expected: 'Rome', output: 'rome' },
  { input: '', expected: 'Rome', output: 'Oslo' },
]
const graders: Grader[] = [{ type: 'exact_match' }, { type: 'model', model: 'm' }]

test('scores in a thread, and leaves graders that ask a model to others', async () => {
  const { score } = createGrading()
  assert.deepEqual(await score('a', { graders, graded }), [
    [1, 0],
    [null, null],
  ])
})

test('ends scoring that takes too long, and scores the next answers', async () => {
  const words = Array.from({ length: 60_000 }, (_, at) => `w${at % 7}`).join(' ')
  const endless = { graders: [{ type: 'rouge_l' as const }], graded: [{ input: '', expected: words, output: words }] }
  await assert.rejects(createGrading({ atMostMs: 1 }).score('a', endless), /took more than 0.001 seconds/)
  assert.equal((await createGrading().score('a', { graders, graded }))[0]?.[0], 1)
})

test('compiles patterns and schemas in a thread, and names the grader that takes too long or cannot be used', async () => {
  const wide = { type: 'regex' as const, pattern: '[b-\u{10fffe}]'.repeat(160), ignore_case: true }
  const list: Grader[] = [{ type: 'f1' }, { ...wide, name: 'wide' }]
  await assert.rejects(
    createGrading({ compileAtMostMs: 1 }).compile('a', list, 'evaluation.graders'),
    (error: Error) => {
      assert.deepEqual((error as ServiceError).issues[0]?.path, 'evaluation.graders[1]')
      assert.match(
        error.message,
        /The regex grader cannot be used: compiling the graders takes more than 0.001 seconds/,
      )
      return true
    },
  )
  const grading = createGrading()
  await grading.compile('a', [{ type: 'f1' }, { type: 'regex', pattern: 'a+' }])
  const broken = grading.compile('a', [{ type: 'f1' }, { type: 'regex', pattern: '(' }])
  await assert.rejects(broken, (error: ServiceError) => error.issues[0]?.path === 'graders[1]')
  await assert.rejects(grading.compile('a', [{ type: 'f1' }, { type: 'f1' }]), /Two graders have the name "f1"/)
})
