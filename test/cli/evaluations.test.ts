// `anneal evaluations` against a service that only records what it is asked.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startRecordingService } from '../support/recording-service.ts'

const evaluation = {
  id: 'e-1',
  status: 'COMPLETED',
  models: ['one'],
  dataset_id: 'questions',
  created_at: '2026-11-20T10:00:00.123456',
  warnings: ['1 of 5 rows is left out.'],
  summary: { one: { exact_match: { mean: 0.5, low: 0.25, high: 0.75, rows: 4 }, f1: null } },
}
const { asked, ...service } = await startRecordingService(() => ({ body: evaluation }))
const anneal = (...args: string[]) => service.anneal(['evaluations', ...args])

test('asks for an evaluation with the models, graders and limits of the command', async () => {
  const { stdout, stderr, code } = await anneal(
    'create',
    'questions',
    'one',
    'two',
    '--graders',
    'f1, bleu',
    '--max-rows',
    '9',
  )
  assert.equal(code, 0, stderr)
  assert.equal(stdout.trim(), 'e-1')
  const body = { dataset_id: 'questions', models: ['one', 'two'], graders: ['f1', 'bleu'], max_rows: 9 }
  const { body: sent = '', ...rest } = asked.at(-1) ?? {}
  assert.deepEqual([rest, JSON.parse(sent)], [{ method: 'POST', url: '/v1/evaluations' }, body])
})

test('asks in the form of the command, and leaves bad rows out', async () => {
  const bodyOf = async (...options: string[]) => {
    const { code, stderr } = await anneal('create', 'questions', 'one', ...options)
    assert.equal(code, 0, stderr)
    return JSON.parse(asked.at(-1)?.body ?? 'null') as unknown
  }
  const common = { dataset_id: 'questions', models: ['one'] }
  assert.deepEqual(await bodyOf('--chat', '--system', ''), { ...common, as_chat: true, system: '' })
  assert.deepEqual(await bodyOf('--no-chat', '--skip-bad-rows'), { ...common, as_chat: false, skip_bad_rows: true })
  assert.deepEqual(await bodyOf('--system', 'Be brief.'), { ...common, system: 'Be brief.' })
  for (const wrong of [['--chat'], ['--system', 'Be brief.']])
    assert.equal((await anneal('create', 'questions', 'one', '--no-chat', ...wrong)).code, 2)
})

test('tells beside the scores which rows were left out', async () => {
  const { stderr } = await anneal('show', 'e-1')
  assert.equal(stderr, 'Warning: 1 of 5 rows is left out.\n')
})

test('shows the score of each grader with its interval', async () => {
  const { stdout, code } = await anneal('show', 'e-1')
  assert.equal(code, 0)
  assert.match(stdout, /one +exact_match +0\.500 +0\.250 to 0\.750/)
})

test('refuses an evaluation without a model before it asks the service', async () => {
  const before = asked.length
  const { stderr, code } = await anneal('create', 'questions')
  assert.notEqual(code, 0)
  assert.match(stderr, /MODEL is missing/)
  assert.equal(asked.length, before)
})
