// The two workers of a schedule, each started again after it dies. Tasks of Temporal wait for a worker that polls.
import type { Faults } from './faults.ts'
import { kernel } from './kernel.ts'
import type { Sandbox } from './temporal/sandbox.ts'
import { TemporalServer, type Run } from './temporal/server.ts'
import { startWorker, type Worker, type WorkerDependencies } from './worker.ts'

type Parts = { faults: Faults; sandbox: Sandbox; deps: WorkerDependencies }

export function createWorkerPool({ faults, sandbox, deps }: Parts) {
  const workers: Worker[] = []
  const waiting: (() => void)[] = []
  let isStopped = false
  const server = new TemporalServer({
    runTask: (run) => withWorker((worker) => worker.runTask(run), run),
    runActivity: (activity, token) => withWorker((worker) => worker.runActivity(activity, token)),
  })

  function withWorker(use: (worker: Worker) => void, sticky?: Run) {
    if (isStopped) return
    const polling = workers.filter(({ proc }) => proc.isAlive && proc.pausedUntilMs <= kernel().nowMs)
    if (polling.length === 0 || faults.isDown('temporal')) waiting.push(() => withWorker(use, sticky))
    else use((sticky && polling.find((worker) => worker.hasCached(sticky))) ?? kernel().pick(polling))
  }

  /** One timer for all waiting tasks. A timer for each would use up the schedule's events while nobody polls. */
  function lookAgain() {
    if (isStopped) return
    for (const handOut of waiting.splice(0)) handOut()
    kernel().later(300, lookAgain)
  }

  function add() {
    if (isStopped) return
    const worker = startWorker({ server, faults, sandbox, deps })
    workers.push(worker)
    worker.proc.onDeath(() => {
      workers.splice(workers.indexOf(worker), 1)
      kernel().later(kernel().between(300, 8000), add)
    })
  }

  return {
    server,
    workers,
    start() {
      add()
      add()
      lookAgain()
    },
    stop() {
      isStopped = true
      for (const { proc } of [...workers]) proc.die()
    },
  }
}
