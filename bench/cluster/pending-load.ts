// A thousand jobs that no node can take: the memory of the one worker, and the status lag of other jobs.
import { setTimeout as sleep } from 'node:timers/promises'
import { median } from '../stack.ts'
import { openUser, trainUnplaced, type Service } from './service.ts'
import { statusLags } from './status-lag.ts'
import { lagOf, ms, type Measured } from './table.ts'
import { withWorkerMemory } from './worker-memory.ts'

const count = Number(process.env['ANNEAL_BENCH_JOBS'] ?? 1000)
const together = 8
/** Takes three minutes on two cores, longer on a busy machine. */
const patienceMs = 1_800_000

export async function measurePendingLoad(service: Service): Promise<Measured[]> {
  const lags = () => withWorkerMemory(() => statusLags(service))
  const alone = await lags()
  const before = service.pods.count('unplaced')
  const waiting = () => service.pods.count('unplaced') - before

  const startedAt = performance.now()
  // Another account, because an account may have a thousand open jobs.
  const account = await openUser()
  let submitted = 0
  await Promise.all(
    Array.from({ length: together }, async () => {
      while (submitted++ < count && performance.now() - startedAt < patienceMs) await trainUnplaced(account)
    }),
  )
  console.log(`pending load: submitted after ${((performance.now() - startedAt) / 1000).toFixed(0)} s`)
  while (waiting() < count && performance.now() - startedAt < patienceMs) await sleep(500)
  console.log(`pending load: ${waiting()} wait after ${((performance.now() - startedAt) / 1000).toFixed(0)} s`)
  const size = waiting()
  const beside = await lags()
  return [
    lagOf(`pod's event → readable (${alone.result.length})`, alone.result),
    {
      ...lagOf(`the same beside ${size} jobs that wait`, beside.result),
      compared: `${ms(median(beside.result) - median(alone.result))} more at p50`,
    },
    {
      measure: `worker's memory with ${size} jobs`,
      seen: `${beside.megabytes.toFixed(0)} MB at most`,
      baseline: `${alone.megabytes.toFixed(0)} MB without`,
      compared: `${(beside.megabytes - alone.megabytes).toFixed(0)} MB more`,
      target: '≤ 300 MB',
    },
  ]
}
