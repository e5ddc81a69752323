import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readAnswer } from './accounts.ts'
import { quantile } from './measure-probe.ts'
import type { AttackResult } from './run-attack.ts'
import { tablesOf } from './table.ts'
import { createTally } from './tally.ts'
import { judge } from './verdict.ts'

const refusal = (status: number, detail: string, retryAfter: string | null) =>
  readAnswer(status, retryAfter, JSON.stringify({ code: 'some_code', detail }))

function resultOf({ refused = {}, attackedMs = 30, restarts = [] as string[], answers = [refusal(503, '', '')] }) {
  const tally = createTally()
  for (const answer of answers) tally.count(answer)
  const alone = { count: 200, p50Ms: 10, p99Ms: 20, refused: {} }
  const underAttack = { count: 100, p50Ms: 12, p99Ms: attackedMs, refused }
  const probes = [{ name: 'completion', alone, underAttack, ratio: attackedMs / 20 }]
  const memory = [{ name: 'api', beforeMb: 200, peakMb: 300 }]
  const attacker = { ...tally.record(), processorShare: 0.12 }
  const processors = { alone: { api: 0.1 }, underAttack: { api: 0.5, attacker: 0.12 } }
  return { attack: 'flood', probes, attacker, memory, restarts, processors, load: 1, findings: [] } as AttackResult
}

const clear = refusal(429, 'This account has 10 open batches, the most that it may have.', '5')

test('an attack passes that is refused clearly and hurts no other account', () => {
  assert.deepEqual(judge(resultOf({ answers: [clear, readAnswer(200, null, '{}')] }), { maxRatio: 3 }), [])
})

test('a refusal of the victim, a restart, a slow victim and too much memory are wrong', () => {
  const result = resultOf({ refused: { '503 unavailable': 4 }, attackedMs: 90, restarts: ['api'], answers: [clear] })
  assert.deepEqual(judge(result, { maxRatio: 3 }), [
    'The victim\'s "completion" got 503 unavailable: 4 of 100.',
    'The victim\'s "completion" took 4.5 times as long at p99: 90 ms, alone 20 ms.',
    'The process api was restarted.',
  ])
  assert.equal(judge(result, { maxRatio: null }).length, 2)
  assert.match(judge(result, { maxRatio: null, maxGrowthMb: { api: 99 } }).join(), /api grew from 200 to 300 MB/)
})

test("an attacker's refusal needs Retry-After and a sentence that names the limit", () => {
  const wrong = judge(resultOf({ answers: [refusal(503, 'Try again.', null), refusal(500, 'Oh.', null)] }), {
    maxRatio: 3,
  })
  assert.equal(wrong.length, 3)
  assert.match(
    wrong.join('\n'),
    /503 some_code 1 times without Retry-After.*names no limit: Try again\..*500 some_code/s,
  )
})

test('answers are counted by status and code, the most frequent first', () => {
  const { answers } = resultOf({ answers: [readAnswer(200, null, '{}'), clear, clear] }).attacker
  assert.deepEqual(
    answers.map(({ status, count, retryAfterSeconds }) => [status, count, retryAfterSeconds]),
    [
      [429, 2, 5],
      [200, 1, null],
    ],
  )
})

test('the 0.99 quantile of 200 values leaves two above it; of few values it is the largest', () => {
  assert.equal(
    quantile(
      Array.from({ length: 200 }, (_, index) => index),
      0.99,
    ),
    197,
  )
  assert.equal(quantile([3, 1, 2], 0.99), 3)
})

test('the tables name the attack, the times, the answers and the memory', () => {
  const text = tablesOf([resultOf({ answers: [clear] })])
  assert.match(text, /\| flood \| completion \| 10 ms \| 20 ms \| 12 ms \| 30 ms \| 1.5 \| 200, 100 \| 0 \| 1.0 \|/)
  assert.match(text, /\| flood \| 1 \| 429 some_code \| 5 \| This account has 10 open batches/)
  assert.match(text, /\| flood \| 200 → 300 \| none \|/)
  assert.match(text, /\| flood \| 10 % → 50 % \| 12 % \|/)
})
