// The connection to the cluster that trainers and model servers share, with the pace of calls and the settings of pods.
import { ComputeError } from '../errors.ts'
import { assertRunName } from '../run-name.ts'
import type { RunState } from '../run.ts'
import { createApiCaller } from './api/api-caller.ts'
import type { CallRecord } from './api/api-caller.ts'
import { ApiError } from './api/api-error.ts'
import type { Connection } from './api/connection.ts'
import { createKubernetesApi } from './api/kubernetes-api.ts'
import { createRateLimiter } from './api/rate-limiter.ts'
import { createAdmissionCheck } from './pods/admission-check.ts'
import type { Limits } from './pods/limits.ts'
import type { PodTemplates } from './pods/pod-template-file.ts'

export type ClusterOptions = {
  connection: Connection
  namespace: string
  templates: PodTemplates
  gpuResource: string
  /** The name of the installation, for the labels of its objects. */
  instance: string
  callsPerSecond: number
  callBurst: number
  imageTimeoutMs: number
  nodeLostAfterMs: number
  onCall?: (call: CallRecord) => void
}

export type Cluster = ReturnType<typeof createCluster>

export function createCluster(options: ClusterOptions) {
  const { connection, namespace, templates, gpuResource, instance, imageTimeoutMs, nodeLostAfterMs, onCall } = options
  const limiter = createRateLimiter({ perSecond: options.callsPerSecond, burst: options.callBurst })
  const caller = createApiCaller({ connection, limiter, ...(onCall && { onCall }) })
  const api = createKubernetesApi(caller, namespace)
  return {
    namespace,
    caller,
    api,
    pods: { templates, gpuResource, instance },
    checkAdmission: createAdmissionCheck(api),
    limits: (): Limits => ({ nowMs: Date.now() + api.clockAheadMs(), imageTimeoutMs, nodeLostAfterMs }),
  }
}

/** Runs a verb for one run. @throws ComputeError */
export function verb<T>({ name }: { name: string }, work: () => Promise<T>): Promise<T> {
  return retryable(() => {
    assertRunName(name)
    return work()
  })
}

/** A refusal that the verb itself does not handle is caused by the set-up: missing rights, or the namespace. */
export async function retryable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof ApiError ? new ComputeError('unavailable', error.message, { cause: error }) : error
  }
}

/** An outage of the API server is a state, not an error. @throws only the signal's reason */
export async function orUnreachable<State extends RunState>(
  read: () => Promise<State>,
  signal?: AbortSignal,
): Promise<State | { state: 'unreachable'; message: string }> {
  try {
    return await read()
  } catch (error) {
    signal?.throwIfAborted()
    return { state: 'unreachable', message: error instanceof Error ? error.message : String(error) }
  }
}

/** A create that the cluster refuses is `invalid`: a retry with the same spec cannot help. */
export async function refusedAsInvalid<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const code = error.status === 400 || error.status === 422 ? 'invalid' : 'unavailable'
    throw new ComputeError(code, `The cluster refuses the run: ${error.message}`, { cause: error })
  }
}
