// The acts of users and operators, and the misfortunes, of a schedule. All are drawn from its seed.
import { cancelTrainingJob } from '../../../src/services/training-jobs/cancel.ts'
import type { Ctx, ServiceDependencies } from '../../../src/services/context.ts'
import { resumeTrainingJob } from '../../../src/services/training-jobs/resume.ts'
import { submitTrainingJob } from '../../../src/services/training-jobs/submit.ts'
import { ServiceError } from '../../../src/domain/service-error.ts'
import { fineTuneWorkflowId, sha256 } from '../../../src/domain/identifiers.ts'
import { isTerminal } from '../../../src/domain/training-job-status.ts'
import { accounts, datasetKey } from './seeded-rows.ts'
import { inProc, kernel, noteFatal, outside, Proc } from './kernel.ts'
import type { World } from './world.ts'

const minute = 60_000

/** @returns whether the users have nothing more to do */
export function playScenario(world: World): () => boolean {
  const { chance, between, pick } = kernel()
  let busyUsers = pick([1, 1, 1, 1, 2, 3])
  const user = new Proc('user')
  for (let each = 0; each < busyUsers; each++)
    void inProc(user, 'user', async () => {
      await kernel().sleep(between(0, 5000))
      await liveThrough(pick(accounts), `key-${each}`)
      busyUsers--
    }).catch(noteFatal)
  outside(() => {
    if (!world.isCalm) misfortune()
    kernel().after(chance(0.05) ? between(minute, 12 * minute) : between(10_000, 60_000), () => {
      world.faults.isOn = false
    })
  })
  return () => busyUsers === 0

  async function liveThrough(accountId: string, key: string) {
    const ctx = (deps: ServiceDependencies): Ctx => ({
      deps,
      accountId,
      apiKeyId: 'key',
      origin: { requestId: 'request', address: 'here' },
    })
    const jobId = await submit(ctx, key)
    for (let round = 0; round < 3; round++) {
      if (chance(0.4)) await interfere(ctx, jobId)
      await untilEnded(jobId)
      if (!chance(0.6) || !(await resume(ctx, jobId, `${key}-resume-${round}`))) return
    }
    await untilEnded(jobId)
  }

  async function submit(ctx: (deps: ServiceDependencies) => Ctx, key: string): Promise<number> {
    const send = () =>
      ask('submit', (deps) =>
        submitTrainingJob({
          ctx: ctx(deps),
          idempotency: { key, requestHash: sha256(key) },
          input: {
            modelName: 'anneal-tiny',
            uploadFilePath: datasetKey(ctx(deps).accountId),
            finetuneArgs: {},
            gpuConfig: {},
            isPublic: false,
            customModelName: null,
          },
        }),
      )
    const first = await send()
    world.invariants.accepted(key, first.jobId)
    if (chance(0.3)) world.invariants.accepted(key, (await send()).jobId)
    return first.jobId
  }

  /** A client that repeats its request until it has an answer. */
  async function ask<T>(operation: string, work: (deps: ServiceDependencies) => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await world.api.call(operation, work)
      } catch (error) {
        if (error instanceof ServiceError && error.code !== 'unavailable') throw error
        await kernel().sleep(between(300, 5000))
      }
    }
  }

  async function interfere(ctx: (deps: ServiceDependencies) => Ctx, jobId: number) {
    await kernel().sleep(between(0, pick([2000, 20_000, 120_000])))
    const how = pick(['cancel', 'cancel', 'cancel', 'native cancel', 'terminate', 'delete'])
    const workflowId = fineTuneWorkflowId(jobId)
    const run = world.server.newest(workflowId)
    if (how === 'cancel') {
      const cancel = () => ask('cancel', (deps) => cancelTrainingJob({ ctx: ctx(deps), input: { jobId } }))
      await cancel().catch(refusedWhenEnded)
      if (chance(0.3)) await cancel().catch(refusedWhenEnded)
      return
    }
    if (run?.status !== 'RUNNING') return
    if (how === 'native cancel') return outside(() => world.server.cancel(run))
    world.invariants.tamperedWith.add(workflowId)
    outside(() => (how === 'delete' ? world.server.delete(workflowId) : world.server.terminate(run)))
  }

  async function resume(ctx: (deps: ServiceDependencies) => Ctx, jobId: number, key: string): Promise<boolean> {
    const send = (name: string) =>
      ask('resume', (deps) =>
        resumeTrainingJob({
          ctx: ctx(deps),
          input: { jobId },
          idempotency: { key: name, requestHash: sha256(name) },
        }),
      ).then(() => true, refusedWhenEnded)
    const answers = chance(0.3) ? await Promise.all([send(key), send(`${key}-twin`)]) : [await send(key)]
    if (answers.filter(Boolean).length > 1 && job(jobId)?.resumeCount === 1)
      world.invariants.violate(`job ${jobId}: two resumes were accepted and one was counted`)
    return answers.some(Boolean)
  }

  function job(jobId: number) {
    return world.tables.of('trainingJob').get(String(jobId))
  }

  async function untilEnded(jobId: number) {
    while (!isTerminal(job(jobId)?.status ?? 'CREATED')) await kernel().sleep(700)
  }

  function misfortune() {
    if (!world.faults.isOn) return
    const roll = kernel().random()
    const run = world.cluster.living().length > 0 ? pick(world.cluster.living()) : null
    const worker = world.workers.length > 0 ? pick(world.workers) : null
    if (roll < 0.15) worker?.proc.die()
    else if (roll < 0.25 && worker) worker.proc.pausedUntilMs = kernel().nowMs + between(1000, 60_000)
    else if (roll < 0.35) world.api.die()
    else if (roll < 0.55 && run) world.cluster.strike(run, pick(['kill', 'evict', 'lose node', 'remove', 'exhaust']))
    else if (roll < 0.6) tear()
    kernel().after(between(500, 30_000), misfortune)
  }

  /** Damages bytes, or overwrites them by a late upload. */
  function tear() {
    const written = [...world.store.objects.keys()].filter((key) => key.includes('/artifacts/'))
    if (written.length === 0) return
    world.invariants.hasTornObjects = true
    world.store.objects.set(pick(written), 'torn')
  }
}

function refusedWhenEnded(error: unknown): false {
  if (error instanceof ServiceError && ['invalid_input', 'conflict'].includes(error.code)) return false
  throw error
}
