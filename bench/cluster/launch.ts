// Accepted → pod, against the same Job created by hand: from the answer to the request to the pod in a watch.
import { median } from '../stack.ts'
import { createCopy, deleteCopy, jobOf } from './baseline.ts'
import { sayActivities } from './history.ts'
import { trainUnplaced, type Service } from './service.ts'
import { lagOf, ms, spread, type Measured } from './table.ts'

const rounds = 25

export async function measureLaunch(service: Service): Promise<Measured[]> {
  const times = { ours: [] as number[], byHand: [] as number[], lags: [] as number[] }
  const ids: number[] = []
  // The first of all finds nothing warm: its template is tried, the pods' first list is read.
  for (let round = -1; round < rounds; round++) {
    const { id, run, acceptedAt } = await trainUnplaced(service)
    const existsAt = await service.pods.at(run, 'exists')
    const readAt = await service.reads(id, ({ status_reason }) => status_reason === 'unschedulable')
    const unplacedAt = await service.pods.at(run, 'unplaced')
    const copy = `by-hand-${id}`
    const createdAt = await createCopy(await jobOf(run), copy)
    const copyExistsAt = await service.pods.at(copy, 'exists')
    await Promise.all([deleteCopy(copy), service.cancel(id), service.pods.at(copy, 'gone')])
    if (round < 0) continue
    times.ours.push(existsAt - acceptedAt)
    times.byHand.push(copyExistsAt - createdAt)
    times.lags.push(readAt - unplacedAt)
    ids.push(id)
  }
  await sayActivities('launch', ids, ['prepareDataset', 'openAttempt', 'launchAttempt'])
  return [
    {
      measure: `accepted → pod exists (${rounds})`,
      seen: spread(times.ours),
      peer: spread(times.byHand),
      compared: `${ms(median(times.ours) - median(times.byHand))} more at p50`,
      target: '≤ 150 ms more',
    },
    lagOf(`no node may take the pod → readable (${rounds})`, times.lags),
  ]
}
