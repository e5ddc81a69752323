import { failed, ok, type Verdict } from '../../../domain/finding.ts'
import type { QueueSettings } from '../trainers/job-manifest.ts'
import type { ClusterQueue, LocalQueue, ObjectReader } from './cluster-objects.ts'

/** @param requested the names of all resources that pods of runs ask for: Kueue admits no pod that asks for another */
export async function checkQueue(
  objects: ObjectReader,
  { queue, priorityClasses }: QueueSettings,
  { namespace, requested }: { namespace: string; requested: string[] },
): Promise<Verdict> {
  const local = (await objects.localQueues(namespace)).find(({ metadata }) => metadata?.name === queue)
  const what = `the LocalQueue ${queue} in the namespace ${namespace}`
  if (!local) return failed(`${what} does not exist`, 'Install Kueue, and make the queue or set ANNEAL_KUEUE_QUEUE.')
  const clusterName = local.spec?.clusterQueue ?? ''
  const cluster = (await objects.clusterQueues()).find(({ metadata }) => metadata?.name === clusterName)
  if (!cluster) return failed(`${what} names the ClusterQueue ${clusterName}, which does not exist`, 'Make it.')
  const inactive = inactiveIn([local, cluster])
  if (inactive !== null) return failed(`the queue admits nothing: ${inactive}`, `Mend the ClusterQueue ${clusterName}.`)
  const covered = new Set((cluster.spec?.resourceGroups ?? []).flatMap((group) => group.coveredResources ?? []))
  const missing = requested.filter((name) => !covered.has(name))
  if (missing.length > 0)
    return failed(
      `the ClusterQueue ${clusterName} does not cover ${missing.join(', ')}, so Kueue admits no run that asks for it`,
      `Add it to coveredResources and to every flavor of the ClusterQueue ${clusterName}, with a quota.`,
    )
  const classes = Object.values(priorityClasses ?? {})
  const known = new Set(
    classes.length > 0 ? (await objects.priorityClasses()).map(({ metadata }) => metadata?.name) : [],
  )
  const unknown = classes.filter((name) => !known.has(name))
  if (unknown.length > 0)
    return failed(
      `the WorkloadPriorityClasses ${unknown.join(', ')} do not exist`,
      'Make them, or set ANNEAL_KUEUE_PRIORITY_CLASSES.',
    )
  return ok(`${what} is active, and ${clusterName} covers ${requested.join(', ')}`)
}

/** The message of the first that says that it is not active; null when none does. */
function inactiveIn(queues: (LocalQueue | ClusterQueue)[]): string | null {
  for (const { status } of queues) {
    const active = status?.conditions?.find(({ type }) => type === 'Active')
    if (active && active.status !== 'True') return active.message ?? 'not active'
  }
  return null
}
