import { ComputeError } from '../../errors.ts'
import type { Launched } from '../../run.ts'
import type { TrainerSpec } from '../../trainers.ts'
import { hasStatus } from '../api/api-error.ts'
import { refusedAsInvalid } from '../cluster.ts'
import { isOurs } from '../pods/labels.ts'
import { holds } from '../pods/observed-pod.ts'
import { secretManifest } from '../pods/owned-objects.ts'
import { jobManifest, trainerTemplate } from './job-manifest.ts'
import { nodeCountOf, nodesService } from './multi-node.ts'
import { readJob } from './observed-job.ts'
import type { ObservedJob } from './observed-job.ts'
import type { TrainerCluster } from './trainer-cluster.ts'

/**
 * Creates the Job, then the objects that it owns: the Service that names the pods of several nodes, then the Secret for which
 * the pods wait. A repeat completes a launch that was cut off. All objects are deleted with the Job.
 */
export async function launchJob(cluster: TrainerCluster, spec: TrainerSpec): Promise<Launched> {
  const { instance } = cluster.pods
  const template = trainerTemplate(spec, cluster.pods)
  await refusedAsInvalid(() => cluster.checkAdmission(template))
  const { job, adopted } = await refusedAsInvalid(() => createOrAdopt(cluster, spec, template))
  if (mayStart(job)) {
    const owner = { kind: 'Job', name: job.name, uid: job.uid } as const
    if (nodeCountOf(spec) > 1) await cluster.jobs.createService(nodesService(spec, owner, instance))
    await cluster.api.putSecret(secretManifest('trainer', spec, owner, instance))
  }
  return { uid: job.uid, adopted }
}

async function createOrAdopt(
  { jobs, queue, pods }: TrainerCluster,
  spec: TrainerSpec,
  template: ReturnType<typeof trainerTemplate>,
): Promise<{ job: ObservedJob; adopted: boolean }> {
  try {
    const created = await jobs.createJob(jobManifest(spec, template, { queue, instance: pods.instance }))
    return { job: readJob(created), adopted: false }
  } catch (error) {
    if (!hasStatus(error, 409)) throw error
    const existing = await jobs.getJob(spec.name)
    if (!existing) throw new ComputeError('unavailable', `The Job ${spec.name} is being deleted.`, { cause: error })
    const job = readJob(existing)
    if (!isOurs(job.labels))
      throw new ComputeError('invalid', `The namespace has a Job ${spec.name} that Anneal did not create.`)
    return { job, adopted: true }
  }
}

function mayStart({ conditions, isBeingDeleted }: ObservedJob): boolean {
  return !isBeingDeleted && !holds(conditions, 'Complete') && !holds(conditions, 'Failed')
}
