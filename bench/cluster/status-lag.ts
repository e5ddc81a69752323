// Lag between a pod's event and its job's status. This program rewrites a condition of the pod and sees it in a watch. The
// lag ends with an answer of `GET /v1/train/jobs/{id}`, so it always includes one request.
import { setTimeout as sleep } from 'node:timers/promises'
import { api } from '../../test/lab/cluster/support/cluster.ts'
import { podsOf } from '../../test/lab/cluster/support/jobs.ts'
import { runsNamespace, trainUnplaced, type Service } from './service.ts'

const events = 200
const longestPauseMs = 100

export async function statusLags(service: Service): Promise<number[]> {
  const { pods, reads } = service
  const { id, run } = await trainUnplaced(service)
  await reads(id, ({ status_reason }) => status_reason === 'unschedulable')
  const [pod] = await podsOf(id)
  const lags: number[] = []
  for (let event = 0; event < events; event++) {
    const words = `event ${event}.`
    const told = pods.says(run, words)
    await setMessage(pod?.metadata.name ?? '', `${words} Insufficient nvidia.com/gpu.`)
    const toldAt = await told
    lags.push((await reads(id, ({ status_message }) => status_message?.includes(words) ?? false)) - toldAt)
    // A random wait avoids a lockstep with periodic work.
    await sleep(Math.random() * longestPauseMs)
  }
  await service.cancel(id)
  return lags
}

function setMessage(pod: string, message: string) {
  const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }
  const path = `/api/v1/namespaces/${runsNamespace}/pods/${pod}/status`
  return api.patch(path, { status: { conditions: [condition] } }, 'strategic-merge-patch')
}
