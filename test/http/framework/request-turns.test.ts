import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRequestTurns } from '../../../src/http/framework/request-turns.ts'

test('a request waits for one of another account, however many that account has sent', async () => {
  const turn = createRequestTurns()
  const begun: string[] = []
  const ask = (account: string) => turn(account).then(() => begun.push(account))
  await Promise.all([...Array.from({ length: 5 }, () => ask('many')), ask('one')])
  assert.deepEqual(begun, ['many', 'one', 'many', 'many', 'many', 'many'])
})

test('a request that arrives between two turns waits for one of them', async () => {
  const turn = createRequestTurns()
  const begun: string[] = []
  const ask = (account: string) => turn(account).then(() => begun.push(account))
  const first = Array.from({ length: 4 }, () => ask('many'))
  setImmediate(() => void ask('late'))
  await Promise.all(first)
  assert.deepEqual(begun.slice(0, 4), ['many', 'late', 'many', 'many'])
})
