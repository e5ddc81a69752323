// A worker whose only activity waits, fails as in an outage, or is done, as the arguments say.
import { cancelled } from '@temporalio/activity'
import { NativeConnection, Worker } from '@temporalio/worker'
import { boundedTries } from '../../../activities/bounded-tries.ts'

const [address, taskQueue = '', mode] = process.argv.slice(2)
const outage = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
const works: Record<string, () => Promise<string>> = {
  wait: () => cancelled(),
  fail: () => Promise.reject(outage),
  end: () => Promise.resolve('done'),
}

const worker = await Worker.create({
  connection: await NativeConnection.connect({ ...(address && { address }) }),
  taskQueue,
  activities: {
    work: () =>
      boundedTries({ id: 'work', what: 'The work', type: 'Refused' }, works[mode ?? ''] ?? (() => cancelled())),
  },
})
await worker.run()
