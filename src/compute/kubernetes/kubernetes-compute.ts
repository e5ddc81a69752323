// Runs as Jobs of a cluster. What is decided from the cluster's objects, and the objects that we make, are pure functions
// with tests of their own (run-*.ts, *-manifest.ts, pod-template.ts); kubernetes-api.ts has every call that is made.
import type { Compute, RunRef } from '../compute.ts'
import { ComputeError } from '../errors.ts'
import { assertRunName } from '../run-name.ts'
import { createAdmissionCheck } from './admission-check.ts'
import { createApiCaller } from './api-caller.ts'
import type { CallRecord } from './api-caller.ts'
import { ApiError } from './api-error.ts'
import { createClusterView } from './cluster-view.ts'
import type { Cluster } from './cluster.ts'
import type { Connection } from './connection.ts'
import { discardJob, listRuns, removeEndedJobs } from './ended-runs.ts'
import type { QueueSettings } from './job-manifest.ts'
import { createKubernetesApi } from './kubernetes-api.ts'
import { createLaunchBar } from './launch-bar.ts'
import { launchJob } from './launch.ts'
import { readLiveState } from './live-facts.ts'
import { readRunLogs } from './logs.ts'
import type { PodTemplates } from './pod-template-file.ts'
import { createRateLimiter } from './rate-limiter.ts'
import { terminateJob } from './terminate.ts'
import { watchRun } from './watch.ts'

export type KubernetesComputeOptions = {
  connection: Connection
  namespace: string
  templates: PodTemplates
  gpuResource: string
  queue: QueueSettings | null
  /** How many attempts may exist at once; null leaves it to the cluster. */
  slots: number | null
  callsPerSecond: number
  callBurst: number
  imageTimeoutMs: number
  nodeLostAfterMs: number
  onCall?: (call: CallRecord) => void
}

export function createKubernetesCompute(options: KubernetesComputeOptions): Compute & { close(): void } {
  const limiter = createRateLimiter({ perSecond: options.callsPerSecond, burst: options.callBurst })
  const { connection, onCall, queue, imageTimeoutMs, nodeLostAfterMs } = options
  const caller = createApiCaller({ connection, limiter, ...(onCall && { onCall }) })
  const api = createKubernetesApi(caller, options.namespace)
  const view = createClusterView(api, { watchesQueue: queue !== null })
  const pods = { templates: options.templates, gpuResource: options.gpuResource }
  const cluster: Cluster = { api, view, pods, queue, imageTimeoutMs, nodeLostAfterMs }
  const checkAdmission = createAdmissionCheck(api)
  const bar = createLaunchBar()
  const terminate: Compute['terminate'] = (run, terminateOptions) => terminateJob(cluster, run, terminateOptions)

  return {
    launch: (spec) =>
      checked(spec, () =>
        bar.launch(
          spec.name,
          () => launchJob(cluster, checkAdmission, spec),
          (uid) => terminate({ name: spec.name, uid }, { graceMs: 0 }),
        ),
      ),
    probe: (run) => checked(run, () => readLiveState(cluster, run)),
    watch: (run, watchOptions) => checked(run, () => watchRun(cluster, run, watchOptions)),
    readLogs: (run, range) => checked(run, () => readRunLogs(cluster, run, range)),
    terminate: (run, terminateOptions) =>
      checked(run, () => bar.terminate(run, () => terminate(run, terminateOptions))),
    discard: (run) => checked(run, () => discardJob(cluster, run)),
    list: (filter) => reached(() => listRuns(cluster, filter?.labels ?? {})),
    removeEndedRuns: (removeOptions) => reached(() => removeEndedJobs(cluster, removeOptions)),
    capacity: () => ({ slots: options.slots }),
    close() {
      view.stop()
      api.close()
    },
  }
}

async function checked<T>(run: RunRef, verb: () => Promise<T>): Promise<T> {
  assertRunName(run.name)
  return await reached(verb)
}

/** A refusal that no verb knows what to do about is a matter of the set-up: rights, the namespace. */
async function reached<T>(verb: () => Promise<T>): Promise<T> {
  try {
    return await verb()
  } catch (error) {
    throw error instanceof ApiError ? new ComputeError('unavailable', error.message, { cause: error }) : error
  }
}
