// Jobs complete in one attempt when workers die, are replaced, or are two.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { deletePod, killProcesses, openJobs } from '../../support/jobs.ts'
import { rollWorkers, scaleWorkers, servicePods, servicesAreUp } from '../../support/services.ts'
import { sampleRows } from '../../../../support/rows.ts'

const jobs = await openJobs()
const { account } = jobs
after(async () => {
  await scaleWorkers(1)
  await servicesAreUp()
  await jobs.end()
})

const aWorker = async () => (await servicePods('anneal-worker'))[0] ?? assert.fail('there is no worker')

const states = [['CREATED', 'QUEUED'], ['LOADING DATA'], ['TRAINING MODEL'], ['SAVING MODEL'], ['EVALUATING MODEL']]
const way = [...states.flat(), 'COMPLETED']

test('a worker that is killed in each state of a job: each completes in one attempt', async (t) => {
  const ids: number[] = []
  /** If a job passes the state too fast, the job is left to complete, and another one is tried. */
  async function oneIn(statuses: string[], tries = 5): Promise<number> {
    const id = await jobs.train({ max_steps: 150 }, { eval_data: sampleRows })
    ids.push(id)
    const first = way.indexOf(statuses[0] ?? '')
    const { status } = await account.until(id, (job) => way.indexOf(job.status) >= first, { everyMs: 5 })
    if (statuses.includes(status)) return id
    assert.ok(tries > 1, `${statuses[0]} is never seen`)
    return oneIn(statuses, tries - 1)
  }
  for (const statuses of states) {
    const worker = await aWorker()
    const id = await oneIn(statuses)
    killProcesses(worker)
    t.diagnostic(`killed at ${statuses[0]}, dead at ${(await account.job(id)).status}`)
    // A new pod takes its place at once: Kubernetes restarts a container that ends again and again more and more slowly.
    await deletePod(worker, { gracePeriodSeconds: 0 })
    await servicesAreUp()
  }
  await Promise.all(ids.map((id) => jobs.completesAfter(id, [])))
})

test('jobs complete in a single attempt when one of two workers dies and both are then rolled', async () => {
  await scaleWorkers(2)
  await servicesAreUp()
  const ids = await Promise.all([jobs.train({ max_steps: 200 }), jobs.train({ max_steps: 200 })])
  await Promise.all(ids.map((id) => jobs.reaches(id, 10)))
  const worker = await aWorker()
  killProcesses(worker)
  await deletePod(worker, { gracePeriodSeconds: 0 })
  await rollWorkers()
  await servicesAreUp()
  await Promise.all(ids.map((id) => jobs.completesAfter(id, [])))
})
