// The cluster as the worker sees it: its rights, and whether its nodes and its queue can take runs.
import type { readKubernetesConfig } from '../../config/kubernetes.ts'
import { gibibyte, type Catalogue } from '../../domain/catalogue.ts'
import { failed, ok, warning, type Verdict } from '../../domain/finding.ts'
import { ComputeError } from '../../compute/errors.ts'
import type { Cluster } from '../../compute/kubernetes/cluster.ts'
import { createObjectReader, NotReadable } from '../../compute/kubernetes/doctor/cluster-objects.ts'
import { checkGpus } from '../../compute/kubernetes/doctor/gpus.ts'
import { checkQueue } from '../../compute/kubernetes/doctor/queue.ts'
import { requestsOf } from '../../compute/kubernetes/doctor/quota.ts'
import { checkRights } from '../../compute/kubernetes/doctor/rights.ts'
import { trainerTemplate } from '../../compute/kubernetes/trainers/job-manifest.ts'
import type { ClockReading } from './clocks.ts'
import { reasonOf, runCheck } from './run-check.ts'

export type KubernetesSettings = Pick<ReturnType<typeof readKubernetesConfig>, 'namespace' | 'queue' | 'gpuResource'>
type Template = ReturnType<typeof trainerTemplate>

const lowestMinor = 34
const inWorker = 'Run this in a pod of the worker, which alone has a token: docs/operations.md, "After an install".'

/** @param given the objects of --objects, or null */
export async function checkKubernetes(
  cluster: Cluster,
  { namespace, queue, gpuResource }: KubernetesSettings,
  catalogue: Catalogue,
  given: unknown,
) {
  const { caller } = cluster
  const clock: ClockReading = { of: 'API server', aheadMs: null }
  const server = await runCheck('api server', inWorker, async () => {
    const { gitVersion = '', minor = '' } = (await caller.call({ method: 'GET', path: '/version' })) as Version
    clock.aheadMs = caller.clockAheadMs()
    if (parseInt(minor) >= lowestMinor) return ok(`Kubernetes ${gitVersion} answers`)
    return warning(`Kubernetes ${gitVersion} answers`, `Anneal is tested with 1.${lowestMinor} and later.`)
  })
  if (server.state === 'failed') return { findings: [server], clock }
  const trained = catalogue.entries.filter(({ task }) => task === 'completion')
  const pods = trained.map((entry) => templateOf(entry, cluster))
  const jobs = trained.map(({ name }, index) => ({ name, asked: requestsOf(pods[index] ?? {}) }))
  const objects = createObjectReader(caller, given)
  const askedOfGpus = catalogue.entries.map(({ name, resources }) => ({ name, gpuCount: resources.gpuCount }))
  const findings = [
    server,
    await runCheck('rights', inWorker, () => checkRights(caller, namespace, queue !== null)),
    await runCheck('pods', 'Create the namespace of the runs.', () => checkPods(cluster, pods)),
    ...(queue
      ? [
          await runCheck('kueue', 'Look at Kueue.', () =>
            orUnreadable('localqueues,clusterqueues,cohorts,workloadpriorityclasses', () =>
              checkQueue(objects, queue, { namespace, jobs }),
            ),
          ),
        ]
      : []),
    await runCheck('gpus', 'Look at the nodes.', () =>
      orUnreadable('nodes', () =>
        checkGpus(
          objects,
          gpuResource,
          askedOfGpus.filter(({ gpuCount }) => gpuCount > 0),
        ),
      ),
    ),
  ]
  return { findings, clock }

  async function orUnreadable(kinds: string, check: () => Promise<Verdict>): Promise<Verdict> {
    try {
      return await check()
    } catch (error) {
      if (!(error instanceof NotReadable)) throw error
      return warning(
        `not seen: the worker may not read ${kinds.replaceAll(',', ', ')}`,
        `As an administrator: kubectl get ${kinds} --namespace ${namespace} --output json | kubectl exec --stdin deploy/anneal-worker --namespace NAMESPACE -- node src/cli.ts doctor --kubernetes --objects -`,
      )
    }
  }
}

type Version = { gitVersion?: string; minor?: string }

/** As an attempt of a job of this model would ask for it. */
function templateOf({ name, resources }: Catalogue['entries'][number], { pods }: Cluster): Template {
  const { cpuCount, memoryGiB, diskGiB, gpuCount } = resources
  const asked = { cpuCount, gpuCount, memoryBytes: memoryGiB * gibibyte, diskBytes: diskGiB * gibibyte }
  const own = { name: 'ft-doctor', labels: {}, env: {}, secretEnv: {}, terminationGraceMs: 30_000 }
  return trainerTemplate({ ...own, model: name, resources: asked }, pods)
}

/** Nothing is created: the API server judges a pod of each model. */
async function checkPods({ checkAdmission }: Cluster, pods: readonly Template[]): Promise<Verdict> {
  for (const pod of pods) {
    try {
      await checkAdmission(pod)
    } catch (error) {
      if (!(error instanceof ComputeError)) throw error
      return failed(reasonOf(error), 'Mend the pod templates, the namespace of the runs or its policies.')
    }
  }
  return ok(`the namespace takes a trainer's pod of each of ${pods.length} models`)
}
