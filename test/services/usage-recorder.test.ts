import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from '../../src/log.ts'
import { createUsageRecorder } from '../../src/services/usage/usage-recorder.ts'

type Added = { accountId: string; apiKeyId: string | null; model: string; prompts: number; promptTokens: number }

test('what is counted is written once, however often the database is away', async () => {
  const written: Added[][] = []
  let isAway = true
  const usage = {
    add: async (entries: readonly Added[]) => {
      if (isAway) throw new Error('away')
      written.push([...entries])
    },
  }
  const recorder = createUsageRecorder({ usage, log: createLog('test', 'silent') })
  const key = { accountId: 'a', apiKeyId: 'k', model: 'm' }
  recorder.add(key, { promptTokens: 3 })
  await recorder.close()
  assert.deepEqual(written, [])
  recorder.add(key, { promptTokens: 4, prompts: 1 })
  recorder.add({ ...key, apiKeyId: null }, { prompts: 2 })
  isAway = false
  await recorder.close()
  await recorder.close()
  const sums = written.flat().map(({ apiKeyId, prompts, promptTokens }) => [apiKeyId, prompts, promptTokens])
  assert.deepEqual(sums, [
    ['k', 1, 7],
    [null, 2, 0],
  ])
  assert.equal(written.length, 1)
})
