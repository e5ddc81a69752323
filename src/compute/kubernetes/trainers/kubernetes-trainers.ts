// Training runs as Jobs of a cluster. Manifests and states are pure functions (job-manifest.ts, run-state.ts,
// failure-reason.ts, pending-reason.ts); jobs-api.ts and ../api/kubernetes-api.ts have every call that is made.
import type { TrainerCompute } from '../../trainers.ts'
import { orUnreachable, retryable, verb } from '../cluster.ts'
import type { Cluster } from '../cluster.ts'
import type { QueueSettings } from './job-manifest.ts'
import { createJobsApi } from './jobs-api.ts'
import { createLaunchTombstones } from './launch-tombstones.ts'
import { launchJob } from './launch.ts'
import { listRuns, removeEndedJobs } from './list-runs.ts'
import { readRunLogs } from './logs.ts'
import { readLiveState } from './read-snapshot.ts'
import { terminateJob } from './terminate.ts'
import { createTrainerCache } from './trainer-cache.ts'
import type { TrainerCluster } from './trainer-cluster.ts'
import { watchRun } from './watch.ts'

type KubernetesTrainerOptions = {
  queue: QueueSettings | null
  /** How many attempts may exist at once; null leaves it to the cluster. */
  slots: number | null
}

export function createKubernetesTrainers(shared: Cluster, { queue, slots }: KubernetesTrainerOptions): TrainerCompute {
  const jobs = createJobsApi(shared.caller, shared.namespace)
  const cache = createTrainerCache(shared.api, jobs, { watchesQueue: queue !== null })
  const cluster: TrainerCluster = { ...shared, jobs, cache, queue }
  const tombstones = createLaunchTombstones()
  const terminate: TrainerCompute['terminate'] = (run, options) => terminateJob(cluster, run, options)

  return {
    launch: (spec) =>
      verb(spec, () =>
        tombstones.launch(
          spec.name,
          () => launchJob(cluster, spec),
          (uid) => terminate({ name: spec.name, uid }, { graceMs: 0 }),
        ),
      ),
    probe: (run) => verb(run, () => orUnreachable(() => readLiveState(cluster, run))),
    watch: (run, options) => verb(run, () => watchRun(cluster, run, options)),
    readLogs: (run, range) => verb(run, () => readRunLogs(cluster, run, range)),
    terminate: (run, options) => verb(run, () => tombstones.terminate(run, () => terminate(run, options))),
    list: (labels = {}) => retryable(() => listRuns(cluster, labels)),
    removeEndedRuns: (options) => retryable(() => removeEndedJobs(cluster, options)),
    capacity: () => ({ slots }),
    // Each read passes through the API server.
    logReadIntervalMs: 30_000,
    close() {
      cache.stop()
      shared.api.close()
    },
  }
}
