// Time from cancel to the end of the pod, compared with a DELETE of the pod with the same grace, as `kubectl delete` sends
// it. Two trainers with the same work, one after the other: each gets SIGTERM, saves a checkpoint and exits.
import { deletePod, podsOf } from '../../test/lab/cluster/support/jobs.ts'
import { median } from '../stack.ts'
import type { Service } from './service.ts'
import { seconds, type Measured } from './table.ts'

const rounds = 6
const endless = { max_steps: 20_000, save_steps: 10_000, batch_size: 2, gradient_accumulation_steps: 1, seed: 7 }

export async function measureCancel(service: Service): Promise<Measured[]> {
  const { call, pods, reads } = service
  const times = { ours: [] as number[], baseline: [] as number[] }

  async function trainer() {
    const job = await service.train(endless)
    await reads(job.id, ({ history }) => history.includes('"step":10'), 200)
    return job
  }

  for (let round = 0; round < rounds; round++) {
    const [mine, other] = await Promise.all([trainer(), trainer()])
    const [pod] = await podsOf(other.id)
    if (!pod) throw new Error(`job ${other.id} has no pod`)
    const turns = {
      ours: async () => {
        const askedAt = performance.now()
        await call('POST', `/v1/train/jobs/${mine.id}/cancel`)
        times.ours.push((await pods.at(mine.run, 'gone')) - askedAt)
      },
      baseline: async () => {
        const askedAt = performance.now()
        await deletePod(pod)
        times.baseline.push((await pods.at(other.run, 'gone')) - askedAt)
      },
    }
    // The order alternates: the second one has more of the machine.
    for (const turn of round % 2 === 0 ? [turns.ours, turns.baseline] : [turns.baseline, turns.ours]) await turn()
    await service.cancel(mine.id)
    await service.cancel(other.id)
  }
  const [ours, baseline] = [median(times.ours), median(times.baseline)]
  return [
    {
      measure: `cancel → pod gone (${rounds})`,
      seen: `median ${seconds(ours)}`,
      baseline: `median ${seconds(baseline)}`,
      compared: (ours / baseline).toFixed(2),
      target: '≤ 1.10',
    },
  ]
}
