// Asks the API server what the worker may do.
import { failed, ok, type Verdict } from '../../../domain/finding.ts'
import type { ApiCaller } from '../api/api-caller.ts'

/** The rules of the worker's Role. test/k8s/manifests.test.ts compares them with the chart: a new verb wants a reason in both. */
export const workerRights: Record<string, string> = {
  'batch/jobs': 'create get list watch delete',
  'batch/jobs/finalizers': 'update',
  '/pods': 'create list watch delete',
  '/pods/log': 'get',
  '/pods/status': 'patch',
  '/secrets': 'create patch delete',
  '/events': 'list watch',
  'apps/deployments': 'create get list watch delete',
  '/services': 'create list delete',
  'policy/poddisruptionbudgets': 'create list delete',
  'kueue.x-k8s.io/workloads': 'list watch',
}

/** `hasQueue` false: rights on Kueue's objects are not needed. */
export async function checkRights(caller: ApiCaller, namespace: string, hasQueue: boolean): Promise<Verdict> {
  const wanted = Object.entries(workerRights)
    .filter(([resource]) => hasQueue || !resource.startsWith('kueue'))
    .flatMap(([resource, verbs]) => verbs.split(' ').map((verb) => ({ resource, verb })))
  const answers = await Promise.all(
    wanted.map(async (right) => ({ ...right, isAllowed: await isAllowed(caller, namespace, right) })),
  )
  const missing = answers.filter(({ isAllowed }) => !isAllowed).map(({ resource, verb }) => `${verb} ${name(resource)}`)
  if (missing.length === 0) return ok(`all ${wanted.length} rights on runs in the namespace ${namespace}`)
  return failed(
    `${missing.length} of ${wanted.length} rights are missing in the namespace ${namespace}: ${missing.join(', ')}`,
    'Apply the Role and the RoleBinding of the worker: k8s/chart/templates/rbac.yaml.',
  )
}

const name = (resource: string) => resource.replace(/^\//, '')

async function isAllowed(caller: ApiCaller, namespace: string, { resource, verb }: { resource: string; verb: string }) {
  const [group, kind, subresource] = resource.split('/')
  const review = (await caller.call({
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: { namespace, verb, group, resource: kind, subresource } },
    },
  })) as { status?: { allowed?: boolean } }
  return review.status?.allowed === true
}
