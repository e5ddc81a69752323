// Answers under way in one process, with a model server that answers when the test says so.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ServiceError } from '../../../src/domain/service-error.ts'
import type { SampledAnswer } from '../../../src/inference/sample.ts'
import {
  createSamplingWork,
  maxAnswersUnderWay,
  type PolicyToSample,
  type WantedAnswer,
} from '../../../src/services/attempt-api/sampling-work.ts'
import { eventually } from '../../support/eventually.ts'

const answer = (token: number): SampledAnswer => ({ tokens: [token], logps: [-1], finishReason: 'stop' })
const wanted = (count: number, row = 0): WantedAnswer[] =>
  Array.from({ length: count }, (_, index) => ({ row, index, prompt: [1], maxTokens: 4, seed: `${row}${index}` }))

function aServer(policy = 'policy-7-0', accountId = 'one') {
  const calls: (Parameters<PolicyToSample['draw']>[0] & { fail: (error: Error) => void })[] = []
  const draw: PolicyToSample['draw'] = (call) => {
    const { promise, reject } = Promise.withResolvers<void>()
    calls.push({ ...call, fail: reject })
    call.signal.addEventListener('abort', () => reject(call.signal.reason as Error))
    return promise
  }
  return { calls, policy: { policy, accountId, draw } }
}

describe('answers at model servers', () => {
  it('are drawn once for all that ask meanwhile, and given as soon as they are there', async () => {
    const { calls, policy } = aServer()
    const work = createSamplingWork()
    const first = await work.sample(policy, wanted(3), 1)
    assert.deepEqual([first.sampled, first.failure, first.hadRoom], [[], null, true])
    calls[0]?.onAnswer(1, answer(5))
    const second = await work.sample(policy, wanted(4), 1)
    assert.deepEqual(second.sampled, [{ row: 0, index: 1, ...answer(5) }])
    assert.deepEqual(
      calls.map(({ answers }) => answers.length),
      [3, 1],
    )
    const both = work.sample(policy, [...wanted(1), ...wanted(4).slice(2)], 60_000)
    for (const place of [0, 2]) calls[0]?.onAnswer(place, answer(place))
    calls[1]?.onAnswer(0, answer(3))
    assert.deepEqual(
      (await both).sampled.map(({ tokens }) => tokens),
      [[0], [2], [3]],
    )
  })

  it('of one account are bounded, and those of another have room', async () => {
    const { calls, policy } = aServer()
    const work = createSamplingWork()
    for (let row = 0; row * 256 < maxAnswersUnderWay; row++)
      assert.equal((await work.sample(policy, wanted(256, row), 1)).hadRoom, true)
    assert.equal((await work.sample(policy, wanted(1, 9), 1)).hadRoom, false)
    const other = aServer('policy-8-0', 'two')
    assert.equal((await work.sample(other.policy, wanted(1, 9), 1)).hadRoom, true)
    calls[0]?.onAnswer(0, answer(1))
    await work.sample(policy, wanted(1, 0), 1)
    assert.equal((await work.sample(policy, wanted(1, 9), 1)).hadRoom, true, 'a fetched answer leaves its place')
  })

  it('are drawn again after a failure, of which those that wait are told', async () => {
    const { calls, policy } = aServer()
    const work = createSamplingWork()
    const waiting = work.sample(policy, wanted(2), 60_000)
    calls[0]?.onAnswer(0, answer(1))
    calls[0]?.fail(new ServiceError('unavailable', 'The model is away.'))
    const { sampled, failure } = await waiting
    assert.deepEqual([sampled.length, (failure as Error).message], [1, 'The model is away.'])
    await work.sample(policy, wanted(2).slice(1), 1)
    assert.deepEqual(calls[1]?.answers, [wanted(2)[1]])
  })

  it('are given up, with their work at the server, when nobody asks any more', async () => {
    const { calls, policy } = aServer()
    const work = createSamplingWork(20)
    const kept = setInterval(() => undefined, 1000)
    await work.sample(policy, wanted(1), 1)
    await eventually(() => Promise.resolve(calls[0]?.signal.aborted))
    clearInterval(kept)
    await work.sample(policy, wanted(1), 1)
    assert.equal(calls.length, 2)
  })
})
