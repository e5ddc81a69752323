// A thousand jobs that no node can take, all watched by the one worker: its memory, and the status lag beside them.
import { setTimeout as sleep } from 'node:timers/promises'
import { median } from '../stack.ts'
import { openUser, trainUnplaced, type Service } from './service.ts'
import { statusLags } from './status-lag.ts'
import { lagOf, ms, type Measured } from './table.ts'
import { withWorkerMemory } from './worker-memory.ts'

const count = Number(process.env['ANNEAL_BENCH_JOBS'] ?? 1000)
const together = 8
/** Two cores took three minutes; a busy machine takes longer. */
const patienceMs = 1_800_000

export async function measureCrowd(service: Service): Promise<Measured[]> {
  const lags = () => withWorkerMemory(() => statusLags(service))
  const alone = await lags()
  const before = service.pods.count('unplaced')
  const waiting = () => service.pods.count('unplaced') - before

  const startedAt = performance.now()
  // An account of its own: those of one may be a thousand.
  const crowd = await openUser()
  let submitted = 0
  await Promise.all(
    Array.from({ length: together }, async () => {
      while (submitted++ < count && performance.now() - startedAt < patienceMs) await trainUnplaced(crowd)
    }),
  )
  console.log(`crowd: submitted after ${((performance.now() - startedAt) / 1000).toFixed(0)} s`)
  while (waiting() < count && performance.now() - startedAt < patienceMs) await sleep(500)
  console.log(`crowd: ${waiting()} wait after ${((performance.now() - startedAt) / 1000).toFixed(0)} s`)
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
      peer: `${alone.megabytes.toFixed(0)} MB without`,
      compared: `${(beside.megabytes - alone.megabytes).toFixed(0)} MB more`,
      target: '≤ 300 MB',
    },
  ]
}
