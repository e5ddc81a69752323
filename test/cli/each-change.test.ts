import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Client } from '../../src/cli/remote/client.ts'
import { eachChange } from '../../src/cli/remote/each-change.ts'

const clientOf = (follow: () => AsyncGenerator<object>) => ({ follow }) as unknown as Client

test('events during a look cause one more look, and the end is not missed', async () => {
  const finished = Promise.withResolvers<void>()
  let looks = 0
  async function* follow() {
    for (const event of ['status', 'log', 'log', 'end']) yield { event }
  }
  await eachChange(clientOf(follow), '1', async () => {
    looks += 1
    if (looks === 1) {
      // All four events have come by then.
      setImmediate(() => finished.resolve())
      await finished.promise
    }
  })
  assert.equal(looks, 2)
})

test('a stream that fails ends the command with its error', async () => {
  async function* follow() {
    yield { event: 'status' }
    throw new Error('refused')
  }
  await assert.rejects(
    eachChange(clientOf(follow), '1', async () => undefined),
    /refused/,
  )
})
