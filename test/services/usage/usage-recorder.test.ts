import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from '../../../src/log.ts'
import type { UsageBatch } from '../../../src/repositories/usage.ts'
import { createUsageRecorder } from '../../../src/services/usage/usage-recorder.ts'

const key = { accountId: 'a', apiKeyId: 'k', model: 'm' }

function startRecorder() {
  const sent: UsageBatch[] = []
  const database = { isAway: false, losesAnswers: false }
  const usage = {
    add: async (batch: UsageBatch) => {
      if (database.isAway) throw new Error('away')
      sent.push(batch)
      if (database.losesAnswers) throw new Error('the connection was lost')
    },
  }
  return { sent, database, recorder: createUsageRecorder({ usage, log: createLog('test', 'silent') }) }
}

const sumsOf = (batches: readonly UsageBatch[]) =>
  batches.flatMap(({ entries }) =>
    entries.map(({ apiKeyId, prompts, promptTokens }) => [apiKeyId, prompts, promptTokens]),
  )

test('writes counts once, however often the database is away', async () => {
  const { sent, database, recorder } = startRecorder()
  database.isAway = true
  recorder.add(key, { promptTokens: 3 })
  await recorder.close()
  recorder.add(key, { promptTokens: 4, prompts: 1 })
  recorder.add(key, { promptTokens: 2 })
  recorder.add({ ...key, apiKeyId: null }, { prompts: 2 })
  await recorder.close()
  assert.deepEqual(sent, [])
  database.isAway = false
  await recorder.close()
  await recorder.close()
  assert.deepEqual(sumsOf(sent), [
    ['k', 0, 3],
    ['k', 1, 6],
    [null, 2, 0],
  ])
})

test('a batch whose answer was lost is sent again unchanged, as the same batch', async () => {
  const { sent, database, recorder } = startRecorder()
  database.losesAnswers = true
  recorder.add(key, { prompts: 1 })
  await recorder.close()
  recorder.add(key, { prompts: 5 })
  await recorder.close()
  database.losesAnswers = false
  await recorder.close()
  const [first, again, once, next] = sent
  assert.deepEqual([again, once], [first, first])
  assert.deepEqual([first?.writer, (first?.batch ?? 0) + 1], [next?.writer, next?.batch])
  assert.deepEqual(sumsOf([first, next].filter((batch) => batch !== undefined)), [
    ['k', 1, 0],
    ['k', 5, 0],
  ])
  assert.equal(sent.length, 4)
})

test('more than a batch can hold goes in several', async () => {
  const { sent, recorder } = startRecorder()
  for (let n = 0; n < 2500; n++) recorder.add({ ...key, apiKeyId: `k${n}` }, { prompts: 1 })
  await recorder.close()
  assert.deepEqual(
    sent.map(({ entries }) => entries.length),
    [1000, 1000, 500],
  )
  assert.equal(new Set(sent.map(({ batch }) => batch)).size, 3)
})
