// Graders that are programs of users: what they may not reach, and what their faults cost.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { ServiceError } from '../../../src/domain/service-error.ts'
import { gradingRequest } from '../../../src/grading/python/request.ts'
import { until } from '../../support/eventually.ts'
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
  const asInOpenAiGuide = 'def grade(s, i): return s["choices"][0]["message"]["content"] == i["answer"]'
  assert.deepEqual(await scoresOf(asInOpenAiGuide, samples), [{ score: 1 }, { score: 0 }])
})

test('the programs of an account that run are told, beside their bound', { skip }, async () => {
  const running = graders()
  const told = () => running.programsOf('account')
  const samples = Array.from({ length: 3 }, () => gradingRequest({}, {}))
  const source = 'import time\ndef grade(sample, item):\n  time.sleep(0.3)\n  return 1'
  const scored = running.score('account', { grader: { source }, samples }, new AbortController().signal)
  await until('the program runs', async () => (await told())?.used === 1)
  assert.deepEqual(await running.programsOf('other'), { limit: 2, used: 0, where: 'process' })
  await scored
  assert.deepEqual(await told(), { limit: 2, used: 0, where: 'process' })
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

test('a program that names packages which are not installed is refused', { skip }, async () => {
  const grader = { source: 'def grade(sample, item): return 1', image_tag: '2026-11-28' } as const
  // What set-up installs for trainers has no pandas.
  const checking = graders().check('account', [{ grader, path: 'grader' }])
  await assert.rejects(checking, /image_tag 2026-11-28 needs [\w-]+ [\d.]+, which is not installed\./)
})

test('a stopped request ends every process of its grader', { skip }, async () => {
  const stopping = new AbortController()
  const source = 'def grade(sample, item):\n  while True: pass'
  const samples = [gradingRequest({}, {})]
  const { signal } = stopping
  const scoring = graders({ sampleMs: 600_000 }).score('account', { grader: { source }, samples }, signal)
  // bubblewrap, its first process within, and the grader.
  await until('a grader runs', () => sandboxProcesses().length === 3)
  stopping.abort(new Error('stopped'))
  await assert.rejects(scoring, /stopped/)
  await until('no process of the grader is left', () => sandboxProcesses().length === 0)
})

test('an account has two sandboxes at once, and another one finds a place beside them', { skip }, async () => {
  const stopping = new AbortController()
  const { signal } = stopping
  const patient = graders({ sampleMs: 600_000 })
  const endless = {
    grader: { source: 'def grade(sample, item):\n  while True: pass' },
    samples: [gradingRequest({}, {})],
  }
  const greedy = Array.from({ length: 5 }, () => patient.score('greedy', endless, signal))
  await until('two graders run', () => sandboxProcesses().length === 6)
  const one = { grader: { source: 'def grade(sample, item): return 1' }, samples: [gradingRequest({}, {})] }
  assert.deepEqual(await patient.score('victim', one, signal), [{ score: 1 }])
  await until('only those two run', () => sandboxProcesses().length === 6)
  stopping.abort(new Error('stopped'))
  for (const each of greedy) await assert.rejects(each, /stopped/)
  await until('no process is left', () => sandboxProcesses().length === 0)
})

/** The processes below this one. */
function sandboxProcesses(parent = process.pid): number[] {
  try {
    const threads = readdirSync(`/proc/${parent}/task`)
    const lists = threads.map((thread) => readFileSync(`/proc/${parent}/task/${thread}/children`, 'utf8'))
    const children = lists.join(' ').split(' ').filter(Boolean).map(Number)
    return children.flatMap((child) => [child, ...sandboxProcesses(child)])
  } catch {
    // It has ended meanwhile.
    return []
  }
}
