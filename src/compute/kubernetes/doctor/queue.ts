import { failed, ok, type Verdict } from '../../../domain/finding.ts'
import type { QueueSettings } from '../trainers/job-manifest.ts'
import type { ClusterQueue, LocalQueue, ObjectReader } from './cluster-objects.ts'
import { judgeQuota, textOf, type Asked } from './quota.ts'

/** @param jobs what one job of each model asks for. Kueue admits no pod that asks for a resource that the queue lacks */
export async function checkQueue(
  objects: ObjectReader,
  { queue, priorityClasses }: QueueSettings,
  { namespace, jobs }: { namespace: string; jobs: readonly Asked[] },
): Promise<Verdict> {
  const local = (await objects.localQueues(namespace)).find(({ metadata }) => metadata?.name === queue)
  const what = `the LocalQueue ${queue} in the namespace ${namespace}`
  if (!local) return failed(`${what} does not exist`, 'Install Kueue, and make the queue or set ANNEAL_KUEUE_QUEUE.')
  const clusterName = local.spec?.clusterQueue ?? ''
  const clusterQueues = await objects.clusterQueues()
  const cluster = clusterQueues.find(({ metadata }) => metadata?.name === clusterName)
  if (!cluster) return failed(`${what} names the ClusterQueue ${clusterName}, which does not exist`, 'Make it.')
  const inactive = inactiveIn([local, cluster])
  if (inactive !== null) return failed(`the queue admits nothing: ${inactive}`, `Mend the ClusterQueue ${clusterName}.`)
  const covered = new Set((cluster.spec?.resourceGroups ?? []).flatMap((group) => group.coveredResources ?? []))
  const requested = [...new Set(jobs.flatMap(({ asked }) => Object.keys(asked)))].toSorted()
  const missing = requested.filter((name) => !covered.has(name))
  if (missing.length > 0)
    return failed(
      `the ClusterQueue ${clusterName} does not cover ${missing.join(', ')}, so Kueue admits no run that asks for it`,
      `Add it to coveredResources and to every flavor of the ClusterQueue ${clusterName}, with a quota.`,
    )
  const cohorts = cluster.spec?.cohortName === undefined ? [] : await objects.cohorts()
  const { refused, most } = judgeQuota(cluster, { clusterQueues, cohorts }, jobs)
  if (refused.length > 0)
    return failed(
      `the ClusterQueue ${clusterName} can never admit a job of ${refused.map(({ name, lacks }) => `${name} (${lacks})`).join('; ')}`,
      `Raise nominalQuota or borrowingLimit of the ClusterQueue ${clusterName}, or lower the resources of these models in the catalogue.`,
    )
  const unknown = await unknownClasses(objects, Object.values(priorityClasses ?? {}))
  if (unknown.length > 0)
    return failed(
      `the WorkloadPriorityClasses ${unknown.join(', ')} do not exist`,
      'Make them, or set ANNEAL_KUEUE_PRIORITY_CLASSES.',
    )
  return ok(
    `${what} is active, and ${clusterName} covers ${requested.map((name) => besideMost(name, jobs, most)).join(', ')}`,
  )
}

/** Such as: memory 512Gi (large asks for 64Gi). */
function besideMost(resource: string, jobs: readonly Asked[], most: Readonly<Record<string, number>>): string {
  const [largest] = jobs.toSorted((a, b) => (b.asked[resource] ?? 0) - (a.asked[resource] ?? 0))
  return `${resource} ${textOf(most[resource] ?? 0)} (${largest?.name} asks for ${textOf(largest?.asked[resource] ?? 0)})`
}

async function unknownClasses(objects: ObjectReader, classes: readonly string[]): Promise<string[]> {
  if (classes.length === 0) return []
  const known = new Set((await objects.priorityClasses()).map(({ metadata }) => metadata?.name))
  return classes.filter((name) => !known.has(name))
}

/** The message of the first that says that it is not active; null when none does. */
function inactiveIn(queues: (LocalQueue | ClusterQueue)[]): string | null {
  for (const { status } of queues) {
    const active = status?.conditions?.find(({ type }) => type === 'Active')
    if (active && active.status !== 'True') return active.message ?? 'not active'
  }
  return null
}
