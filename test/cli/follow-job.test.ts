// What `--watch` says of a job that waits, outside of a terminal.
import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import type { Client } from '../../src/cli/remote/client.ts'
import { followJob } from '../../src/cli/remote/job.ts'

test('says why a job waits, how many are ahead, and its steps from the first on', async () => {
  const waits = { status: 'QUEUED', status_reason: 'waiting_for_slot', status_message: 'The only slot is in use.' }
  const trains = { status: 'TRAINING MODEL', status_reason: null, status_message: null }
  const ends = { status: 'FAILED', status_reason: 'code_error', status_message: 'Told with the job.' }
  const step = { step: 1, loss: 2.5, iter_time: 1, remaining_time: 9 }
  let job = { ...waits, history: '[]', queue: { ahead: 92 } as { ahead: number } | null }
  const asked = { place: () => {} }
  const isPlaced = new Promise<void>((resolve) => (asked.place = resolve))
  let reads = 0
  const client = {
    get: async () => {
      if ((reads += 1) === 2) setImmediate(() => asked.place())
      return job
    },
    async *follow() {
      await isPlaced
      job = { ...job, ...ends, queue: null }
      yield { event: 'status', data: JSON.stringify(trains) }
      yield { event: 'metric', data: JSON.stringify(step) }
      yield { event: 'status', data: JSON.stringify(ends) }
    },
  } as unknown as Client
  const log = mock.method(console, 'log', () => undefined)
  await followJob(client, '7')
  const told = log.mock.calls.map(({ arguments: [line] }) => String(line).trim())
  log.mock.restore()
  assert.deepEqual(
    told.map((line) => line.replace(/^\d+\.\d s {2}/, '')),
    [
      'QUEUED',
      'The only slot is in use.',
      'The only slot is in use. 92 ahead.',
      'TRAINING MODEL',
      `${'█'.repeat(3)}${'░'.repeat(27)} step 1  loss 2.500`,
      'FAILED',
    ],
  )
})
