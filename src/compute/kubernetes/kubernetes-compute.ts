// Runs as Jobs of a cluster, model servers as Deployments (server-*.ts). What is decided from the cluster's objects,
// and the objects that we make, are pure functions with tests of their own (*-state.ts, *-manifest*.ts,
// pod-template.ts); kubernetes-api.ts and server-api.ts have every call that is made.
import { modelServerPrefix } from '../../domain/identifiers.ts'
import type { Compute, RunFilter, RunRef, RunSummary } from '../compute.ts'
import { ComputeError } from '../errors.ts'
import { assertRunName } from '../run-name.ts'
import { createAdmissionCheck } from './pods/admission-check.ts'
import { createApiCaller } from './api/api-caller.ts'
import type { CallRecord } from './api/api-caller.ts'
import { ApiError } from './api/api-error.ts'
import { createTrainerCache } from './trainers/trainer-cache.ts'
import type { Cluster } from './cluster.ts'
import type { Connection } from './api/connection.ts'
import { listRuns, removeEndedJobs } from './trainers/list-runs.ts'
import type { QueueSettings } from './trainers/job-manifest.ts'
import { createKubernetesApi } from './api/kubernetes-api.ts'
import { createLaunchTombstones } from './trainers/launch-tombstones.ts'
import { launchJob } from './trainers/launch.ts'
import { readLiveState } from './trainers/read-snapshot.ts'
import { readRunLogs } from './trainers/logs.ts'
import type { PodTemplates } from './pods/pod-template-file.ts'
import { createRateLimiter } from './api/rate-limiter.ts'
import { createDeploymentsApi } from './model-servers/deployments-api.ts'
import { launchModelServer } from './model-servers/launch.ts'
import {
  listModelServers,
  probeModelServer,
  readModelServerLog,
  terminateModelServer,
  watchModelServer,
} from './model-servers/runs.ts'
import type { Servers } from './model-servers/runs.ts'
import { createModelServerCache } from './model-servers/model-server-cache.ts'
import { terminateJob } from './trainers/terminate.ts'
import { watchRun } from './trainers/watch.ts'

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

export function createKubernetesCompute(options: KubernetesComputeOptions): Compute {
  const limiter = createRateLimiter({ perSecond: options.callsPerSecond, burst: options.callBurst })
  const { connection, onCall, queue, imageTimeoutMs, nodeLostAfterMs } = options
  const caller = createApiCaller({ connection, limiter, ...(onCall && { onCall }) })
  const api = createKubernetesApi(caller, options.namespace)
  const cache = createTrainerCache(api, { watchesQueue: queue !== null })
  const pods = { templates: options.templates, gpuResource: options.gpuResource }
  const cluster: Cluster = { api, cache, pods, queue, imageTimeoutMs, nodeLostAfterMs }
  const checkAdmission = createAdmissionCheck(api)
  const tombstones = createLaunchTombstones()
  const serverApi = createDeploymentsApi(caller, options.namespace)
  const servers: Servers = { cluster, api: serverApi, cache: createModelServerCache(api, serverApi), checkAdmission }
  const terminate: Compute['terminate'] = (run, terminateOptions) => terminateJob(cluster, run, terminateOptions)

  return {
    launch: (spec) =>
      checked(spec, () =>
        spec.program === 'model-server'
          ? launchModelServer(servers, spec)
          : tombstones.launch(
              spec.name,
              () => launchJob(cluster, checkAdmission, spec),
              (uid) => terminate({ name: spec.name, uid }, { graceMs: 0 }),
            ),
      ),
    probe: (run) => checked(run, () => (isServer(run) ? probeModelServer(servers, run) : readLiveState(cluster, run))),
    watch: (run, watchOptions) =>
      checked(run, () =>
        isServer(run) ? watchModelServer(servers, run, watchOptions) : watchRun(cluster, run, watchOptions),
      ),
    readLogs: (run, range) =>
      checked(run, () => (isServer(run) ? readModelServerLog(servers, run, range) : readRunLogs(cluster, run, range))),
    terminate: (run, terminateOptions) =>
      checked(run, () =>
        isServer(run)
          ? terminateModelServer(servers, run, terminateOptions)
          : tombstones.terminate(run, () => terminate(run, terminateOptions)),
      ),
    list: (filter = {}) => reached(() => listAll(filter)),
    removeEndedRuns: (removeOptions) => reached(() => removeEndedJobs(cluster, removeOptions)),
    capacity: () => ({ slots: options.slots }),
    // Each passes through the API server.
    logReadIntervalMs: 30_000,
    close() {
      cache.stop()
      servers.cache.stop()
      api.close()
    },
  }

  async function listAll({ program, labels = {} }: RunFilter): Promise<RunSummary[]> {
    const trainers = program === 'model-server' ? [] : await listRuns(cluster, labels)
    return program === 'trainer' ? trainers : [...trainers, ...(await listModelServers(servers, labels))]
  }
}

const isServer = ({ name }: RunRef) => name.startsWith(modelServerPrefix)

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
