import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createDatasetValidator } from '../../src/datasets/dataset-validator.ts'

/** Nobody listens there. */
const store = { endpoint: 'http://127.0.0.1:1', region: 'here', bucket: 'bucket', accessKey: 'a', secretKey: 's' }
const columns = null
let started = 0
const count = () => void started++
process.on('worker', count)
after(() => process.off('worker', count))

test('concurrent checks share four reused threads, two for each account; an abandoned check ends alone', async () => {
  const checker = createDatasetValidator(store, [])
  const reason = new Error('nobody wants to know')
  const giveUp = new AbortController()
  const refused = (check: Promise<unknown>) => assert.rejects(check, /ECONNREFUSED/)
  const checks = Array.from({ length: 12 }, (_, key) =>
    refused(checker.check({ accountId: String(key % 3), key: String(key), columns, model: '', method: 'supervised' })),
  )
  const waiting = assert.rejects(
    checker.check({ accountId: '0', key: 'waits', columns, model: '', method: 'supervised' }, giveUp.signal),
    reason,
  )
  giveUp.abort(reason)
  await Promise.all([...checks, waiting])
  assert.equal(started, 4)

  const stopping = new AbortController()
  const stopped = assert.rejects(
    checker.check({ accountId: '0', key: 'runs', columns, model: '', method: 'supervised' }, stopping.signal),
    reason,
  )
  // It has been asked by then, and cannot have answered.
  for (let turn = 0; turn < 20; turn++) await Promise.resolve()
  stopping.abort(reason)
  await stopped
  await refused(checker.check({ accountId: '0', key: 'another', columns, model: '', method: 'supervised' }))
  assert.equal(started, 4)
})
