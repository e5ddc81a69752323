// Injects faults as the plan says, whenever a job is in the state that the plan aims at.
import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '../../inference/support/random.ts'
import type { Fault } from './fault.ts'
import { hit, look, submit, type Job } from './jobs.ts'
import { follow, sideBySide } from './workload.ts'
import { openStates, type Instant, type OpenState } from './plan.ts'
import { lastStep } from './observations.ts'
import { servers } from './stack.ts'
import { openJobs, violate, type Injection, type World } from './world.ts'

const fleeting: OpenState[] = ['SAVING MODEL', 'EVALUATING MODEL']
const missesAllowed = 3
/** How many instants of the plan are considered, so that faults for any state wait until jobs reach the later states. */
const instantsInSight = 48
/** How long a job may take to progress after a shared fault, before the next injection. */
const usualPatienceMs = 4000
const savingWaitMs = 5000
const slowSavingMs = 40
const lookEveryMs = 25

/** `job` is null if the injection submits a job of its own. */
type Choice = { instant: Instant; fault: Fault; job: Job | null }

/** @returns the instants that were not injected */
export async function injectFaults(
  world: World,
  faults: readonly Fault[],
  plan: readonly Instant[],
  isOver: () => boolean,
): Promise<Instant[]> {
  const pending = [...plan]
  const byName = new Map(faults.map((fault) => [fault.name, fault]))
  const underWay = new Map<Promise<void>, Choice>()
  const slowSaving = createSlowSaving(world)
  const recovering = new Set<Promise<void>>()
  while (pending.length > 0 && !isOver()) {
    const sharedToo = recovering.size === 0
    const inSight = pending.slice(0, instantsInSight)
    const waits = sharedToo && isSaving(world) && inSight.some(({ state }) => state === 'SAVING MODEL')
    slowSaving(waits || [...underWay.values()].some(({ instant }) => instant.state === 'SAVING MODEL'))
    const aimedAt = [...underWay.values()].map(({ job }) => job)
    const found = choose(world, inSight, byName, { sharedToo, aimedAt, states: waits ? fleeting : openStates })
    if (found) {
      pending.splice(pending.indexOf(found.instant), 1)
      const { instant, fault } = found
      const injecting = injectOnce(world, found).catch((error: unknown) => {
        violate(world, `the injection ${fault.name} failed: ${(error as Error).stack}`)
        return null
      })
      const ended = injecting.then((injection) => {
        underWay.delete(ended)
        if (!injection && ++instant.misses <= missesAllowed) pending.push(instant)
      })
      underWay.set(ended, found)
      if (!fault.isOfOneJob || fault.patienceMs !== undefined) {
        const recovered = injecting.then(async (injection) => {
          if (injection) await untilRecovered(world, injection, fault.patienceMs ?? usualPatienceMs)
          recovering.delete(recovered)
        })
        recovering.add(recovered)
      }
    }
    await sleep(lookEveryMs)
  }
  slowSaving(false)
  await Promise.all([...underWay.keys(), ...recovering])
  return pending
}

/** An upload takes only a moment. While the plan waits for one, each of its pieces is delayed. */
function createSlowSaving({ stack }: World) {
  let isSlow = false
  return (wanted: boolean) => {
    if (wanted === isSlow) return
    isSlow = wanted
    if (wanted) stack.link('s3').fail({ kind: 'delay', ms: slowSavingMs })
    else stack.link('s3').mend()
  }
}

type Now = { sharedToo: boolean; aimedAt: readonly (Job | null)[]; states: readonly OpenState[] }

/** Prefers states that last only a moment. Otherwise it keeps the order of the plan. */
function choose(
  world: World,
  instants: readonly Instant[],
  faults: ReadonlyMap<string, Fault>,
  { sharedToo, aimedAt, states }: Now,
): Choice | null {
  const isFree = (job: Job) => !aimedAt.includes(job)
  const groups = [...fleeting.map((state) => [state]), openStates.filter((state) => !fleeting.includes(state))]
  for (const group of groups)
    for (const instant of instants) {
      const fault = faults.get(instant.fault)
      if (!group.includes(instant.state) || !states.includes(instant.state)) continue
      if (!fault || !(sharedToo || fault.isOfOneJob)) continue
      const submits = instant.state === 'CREATED' && openJobs(world).length < sideBySide + 2
      if (submits && fault.mayInject(world, null)) return { instant, fault, job: null }
      const job = openJobs(world).find(
        (each) => isIn(world, each, instant.state) && isFree(each) && fault.mayInject(world, each),
      )
      if (job) return { instant, fault, job }
    }
  return null
}

const isIn = ({ maxSteps }: World, { seen }: Job, state: OpenState) =>
  seen !== null &&
  (seen.status === state ||
    // The trainer saves before it reports that it saves.
    (state === 'SAVING MODEL' && seen.status === 'TRAINING MODEL' && lastStep(seen) === maxSteps))

/** Includes jobs that are about to enter the state: an injection into another job would miss the moment. */
const isSaving = ({ jobs, maxSteps }: World) =>
  jobs.some(({ seen, asked, changedAtMs }) => {
    if (!seen || asked.cancelAcknowledged || Date.now() - changedAtMs > savingWaitMs) return false
    return seen.status === 'SAVING MODEL' || (seen.status === 'TRAINING MODEL' && lastStep(seen) >= maxSteps - 10)
  })

/** Records a fault that the caller has just injected itself. */
export function noteTrainerFault(world: World, job: Job, fault: string) {
  const now = { atMs: Date.now(), overMs: Date.now() }
  const injection: Injection = { fault, aim: 'TRAINING MODEL', isOfOneJob: true, recovery: 'job', ...now }
  world.injections.push(injection)
  hit(job, injection)
}

/** @returns null when the state had passed */
async function injectOnce(world: World, { instant, fault, job }: Choice): Promise<Injection | null> {
  const random = createRandom(instant.seed)
  const submitting = job ? null : submit(world)
  // The promise is awaited below.
  submitting?.catch(() => undefined)
  await sleep(instant.delayMs)
  if (job && instant.state !== 'SAVING MODEL' && (await look(world, job))?.status !== instant.state) return null
  const { name, isOfOneJob, recovery } = fault
  const injection: Injection = { fault: name, aim: instant.state, isOfOneJob, recovery, atMs: 0, overMs: Infinity }
  await fault.inject({ world, job, random }, () => {
    injection.atMs = Date.now()
    world.injections.push(injection)
    world.say(`${name}, aimed at ${instant.state}`)
    for (const each of isOfOneJob && job ? [job] : openJobs(world)) hit(each, injection)
  })
  const isInjected = injection.atMs > 0
  if (isInjected) injection.overMs = Date.now()
  const submitted = await submitting
  if (submitted) {
    if (isInjected) hit(submitted, injection)
    follow(world, submitted, { cancelAfterMs: random.below(4000), resumes: 0 })
  }
  return isInjected ? injection : null
}

/** Waits until every shared server answers and a job that the injection hit has progressed, or its time is over. */
async function untilRecovered(world: World, injection: Injection, patienceMs: number) {
  const patientUntilMs = Date.now() + patienceMs
  while (!(await allAnswer(world))) await sleep(lookEveryMs * 4)
  const isOnward = () =>
    world.jobs.some(({ hits }) => hits.some((each) => each.injection === injection && each.recoveryMs !== null))
  while (injection.recovery === 'job' && !isOnward() && Date.now() < patientUntilMs) await sleep(lookEveryMs)
}

async function allAnswer({ stack }: World): Promise<boolean> {
  return (await Promise.all(servers.map((name) => stack.answers(name)))).every(Boolean)
}
