// The world of a schedule: two workers, an api, a cluster, a database, Temporal and an object store. All differences between
// seeds are drawn here.
import { reaperWorkflowId } from '../../../workflows/contract.ts'
import { createApi } from './api.ts'
import { createCluster } from './cluster.ts'
import { createDatabase } from './database.ts'
import { createDependencies } from './dependencies.ts'
import { Faults, type Service, type Target } from './faults.ts'
import { Invariants } from './invariants.ts'
import { kernel } from './kernel.ts'
import { createObjectStore } from './object-store.ts'
import type { Recorder } from './recorder.ts'
import { seedRows } from './seeded-rows.ts'
import type { Sandbox } from './temporal/sandbox.ts'
import type { TemporalServer } from './temporal/server.ts'
import { runTrainer, totalSteps, type CallApi, type Misfortune } from './trainer.ts'
import { createWorkerPool } from './worker-pool.ts'

const minute = 60_000
const ensureEveryMs = 30_000
const soundnessEveryMs = 500

export type World = ReturnType<typeof createWorld>
export type WorldOptions = { target?: Target | undefined; recorder?: Recorder | undefined }

export function createWorld(sandbox: Sandbox, { target, recorder }: WorldOptions) {
  const isCalm = kernel().chance(0.1)
  const faults = drawFaults(isCalm, target)
  const invariants: Invariants = new Invariants(() => world)
  const { tables, database, notifications } = createDatabase(
    faults,
    (changes) => invariants.onCommit(changes),
    recorder,
  )
  const store = createObjectStore(faults)
  const misfortunes = new Map<string, Misfortune>()
  const callApi: CallApi = (operation, work) => api.call(operation, work)
  const cluster = createCluster({
    faults,
    slots: kernel().pick([1, 2, null]),
    runProgram(run) {
      const misfortune = drawMisfortune(isCalm)
      misfortunes.set(run.uid, misfortune)
      return runTrainer(run, { callApi, store, misfortune })
    },
  })
  const deps = createDependencies({
    ...{ database, notifications, store, trainers: cluster.trainers, faults, invariants },
    soundForMs: () => kernel().nowMs - soundSinceMs,
  })
  const pool = createWorkerPool({ faults, sandbox, deps: deps.activities })
  const api = createApi(faults, deps.services)
  let isStopped = false
  /** Since this time all services that a pod needs to report progress have been up. */
  let soundSinceMs = kernel().nowMs

  function watchSoundness() {
    const isSound = api.isAlive() && !(['api', 'database', 'store'] as const).some((service) => faults.isDown(service))
    if (!isSound) soundSinceMs = kernel().nowMs
    if (!isStopped) kernel().later(soundnessEveryMs, watchSoundness)
  }

  const world = {
    ...{
      tables,
      faults,
      invariants,
      cluster,
      server: pool.server,
      store,
      workers: pool.workers,
      api,
      misfortunes,
      isCalm,
    },
    start() {
      seedRows(tables, store)
      pool.start()
      api.start()
      watchSoundness()
      kernel().later(kernel().between(0, ensureEveryMs), () => keepReaping(pool.server, faults, () => isStopped))
    },
    stop() {
      isStopped = true
      pool.stop()
      for (const { proc } of cluster.everyRun) proc.die()
      api.die()
    },
  }
  return world
}

function drawFaults(isCalm: boolean, target: Target | undefined): Faults {
  const { chance, between, pick } = kernel()
  return new Faults({
    rates: {
      crash: isCalm ? 0 : pick([0, 0.001, 0.003, 0.01]),
      failure: isCalm ? 0 : pick([0, 0.002, 0.01, 0.05]),
      slow: isCalm ? 0 : pick([0, 0.01, 0.05]),
    },
    outages: Array.from({ length: isCalm ? 0 : between(0, 3) }, () => {
      const fromMs = between(0, 40_000)
      const service = pick<Service>(['database', 'store', 'compute', 'temporal', 'api'])
      return { service, fromMs, toMs: fromMs + (chance(0.1) ? 10 * minute : pick([5000, 30_000])) }
    }),
    target,
  })
}

function drawMisfortune(isCalm: boolean): Misfortune {
  const { between } = kernel()
  const roll = between(0, 99)
  const kind = isCalm || roll >= 6 ? null : roll < 4 ? 'code' : 'hang'
  return kind && { kind, atStep: between(1, totalSteps) }
}

/** Starts the reaper when none is open, as each worker does. */
function keepReaping(server: TemporalServer, faults: Faults, isStopped: () => boolean) {
  if (isStopped()) return
  const isMissing = server.newest(reaperWorkflowId)?.status !== 'RUNNING'
  if (isMissing && !faults.isDown('temporal')) server.start({ type: 'reaper', workflowId: reaperWorkflowId, input: [] })
  kernel().later(ensureEveryMs, () => keepReaping(server, faults, isStopped))
}
