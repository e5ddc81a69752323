// Time from the accepting answer to the pod in a watch, compared with the same Job created directly.
import { median } from '../stack.ts'
import { createCopy, deleteCopy, jobOf } from './baseline.ts'
import { sayActivities } from './history.ts'
import { trainUnplaced, type Service } from './service.ts'
import { lagOf, ms, spread, type Measured } from './table.ts'

const rounds = 25

export async function measureLaunch(service: Service): Promise<Measured[]> {
  const times = { ours: [] as number[], baseline: [] as number[], lags: [] as number[] }
  const ids: number[] = []
  // Not counted: the first job fills caches, validates the template and lists the pods.
  for (let round = -1; round < rounds; round++) {
    const { id, run, acceptedAt } = await trainUnplaced(service)
    const existsAt = await service.pods.at(run, 'exists')
    const readAt = await service.reads(id, ({ status_reason }) => status_reason === 'unschedulable')
    const unplacedAt = await service.pods.at(run, 'unplaced')
    const copy = `baseline-${id}`
    const createdAt = await createCopy(await jobOf(run), copy)
    const copyExistsAt = await service.pods.at(copy, 'exists')
    await Promise.all([deleteCopy(copy), service.cancel(id), service.pods.at(copy, 'gone')])
    if (round < 0) continue
    times.ours.push(existsAt - acceptedAt)
    times.baseline.push(copyExistsAt - createdAt)
    times.lags.push(readAt - unplacedAt)
    ids.push(id)
  }
  await sayActivities('launch', ids, ['prepareDataset', 'openAttempt', 'launchAttempt'])
  return [
    {
      measure: `accepted → pod exists (${rounds})`,
      seen: spread(times.ours),
      baseline: spread(times.baseline),
      compared: `${ms(median(times.ours) - median(times.baseline))} more at p50`,
      target: '≤ 150 ms more',
    },
    lagOf(`no node may take the pod → readable (${rounds})`, times.lags),
  ]
}
