import { availableParallelism } from 'node:os'
import type { ModelServerCompute } from '../model-servers.ts'
import type { TrainerCompute } from '../trainers.ts'
import { createLocalRuns } from './local-runs.ts'
import type { LocalComputeOptions } from './local-options.ts'

export type { LocalComputeOptions }

const coresPerSlot = 4

export function createLocalTrainers({ slots, ...options }: LocalComputeOptions & { slots?: number }): TrainerCompute {
  const capacity = { slots: slots ?? Math.max(1, Math.floor(availableParallelism() / coresPerSlot)) }
  return { ...createLocalRuns(options, 'trainer'), capacity: () => capacity, logReadIntervalMs: 5_000 }
}

/** A run is a parent process that keeps the replicas. */
export function createLocalModelServers(options: LocalComputeOptions): ModelServerCompute {
  const { readLogs, terminate, ...runs } = createLocalRuns(options, 'model-server')
  return {
    ...runs,
    readLogTail: async (run, tailBytes) =>
      (await readLogs(run, { offsetBytes: -tailBytes, limitBytes: tailBytes }))?.text ?? null,
    async terminate(run, ending) {
      await terminate(run, ending)
    },
  }
}
