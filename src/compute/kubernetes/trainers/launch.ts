import type { RunSpec } from '../../compute.ts'
import { ComputeError } from '../../errors.ts'
import type { AdmissionCheck } from '../pods/admission-check.ts'
import { ApiError, hasStatus } from '../api/api-error.ts'
import type { Cluster } from '../cluster.ts'
import { holds, readJob } from '../pods/observed-objects.ts'
import type { ObservedJob } from '../pods/observed-objects.ts'
import { jobManifest } from './job-manifest.ts'
import { isOurs } from '../pods/labels.ts'
import { secretManifest } from '../pods/owned-objects.ts'
import { podTemplate } from '../pods/pod-template.ts'
import { nodeCountOf, nodesService } from './multi-node.ts'

/**
 * The Job, then what it owns: of several nodes the Service that names them, then the Secret, whose absence only makes
 * the pods wait. Whatever is cut off here is finished by a repeat, and all of it goes with the Job.
 */
export async function launchJob(
  cluster: Cluster,
  checkAdmission: AdmissionCheck,
  spec: RunSpec,
): Promise<{ uid: string; adopted: boolean }> {
  const template = podTemplate(spec, cluster.pods)
  await refusedAsInvalid(() => checkAdmission(template))
  const { job, adopted } = await refusedAsInvalid(() => createOrAdopt(cluster, spec, template))
  if (mayStart(job)) {
    const owner = { kind: 'Job', name: job.name, uid: job.uid } as const
    if (nodeCountOf(spec) > 1) await cluster.api.createService(nodesService(spec, owner))
    await cluster.api.putSecret(secretManifest(spec, owner))
  }
  return { uid: job.uid, adopted }
}

type Template = ReturnType<typeof podTemplate>

async function createOrAdopt(
  { api, queue }: Cluster,
  spec: RunSpec,
  template: Template,
): Promise<{ job: ObservedJob; adopted: boolean }> {
  try {
    const created = await api.createJob(jobManifest(spec, template, queue))
    return { job: readJob(created), adopted: false }
  } catch (error) {
    if (!hasStatus(error, 409)) throw error
    const existing = await api.getJob(spec.name)
    if (!existing) throw new ComputeError('unavailable', `${spec.name} is just being removed.`, { cause: error })
    const job = readJob(existing)
    if (!isOurs(job.labels)) throw new ComputeError('invalid', `A Job ${spec.name} exists that is not Anneal's.`)
    return { job, adopted: true }
  }
}

function mayStart({ conditions, isBeingDeleted }: ObservedJob): boolean {
  return !isBeingDeleted && !holds(conditions, 'Complete') && !holds(conditions, 'Failed')
}

export async function refusedAsInvalid<T>(verb: () => Promise<T>): Promise<T> {
  try {
    return await verb()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const code = error.status === 400 || error.status === 422 ? 'invalid' : 'unavailable'
    throw new ComputeError(code, `The cluster refuses the run: ${error.message}`, { cause: error })
  }
}
