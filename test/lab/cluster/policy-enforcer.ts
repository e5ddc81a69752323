// Enforces NetworkPolicies on both nodes, because the test cluster's bridge does not.
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClusterApi } from './api.ts'
import { rulesOf, type Objects } from './network-policies.ts'

type Enforce = (rules: string) => Promise<unknown>

const paths = {
  namespaces: '/api/v1/namespaces',
  // Rules consist of addresses, and pods that wait for a node have none.
  pods: `/api/v1/pods?fieldSelector=${encodeURIComponent('status.podIP!=')}`,
  policies: '/apis/networking.k8s.io/v1/networkpolicies',
}
/** Changes often come in groups, so the rules are written a moment later. */
const settleMs = 50
const againMs = 500

/** Runs until the process ends. A failed read or write is tried again. */
export async function enforcePolicies(api: ClusterApi, enforce: Enforce, say: (text: string) => void) {
  let last = ''
  let ring = () => {}
  for (const path of Object.values(paths)) api.watch(path, () => ring())
  for (;;) {
    const changed = new Promise<void>((resolve) => (ring = resolve))
    try {
      const rules = rulesOf(await readObjects(api))
      if (rules !== last) await enforce(rules)
      last = rules
      await changed
      await sleep(settleMs)
    } catch (error) {
      say(`network policies: ${(error as Error).message}`)
      await sleep(againMs)
    }
  }
}

async function readObjects(api: ClusterApi): Promise<Objects> {
  const [namespaces, pods, policies] = await Promise.all([
    api.list<Objects['namespaces'][number]>(paths.namespaces),
    api.list<Objects['pods'][number]>(paths.pods),
    api.list<Objects['policies'][number]>(paths.policies),
  ])
  return { namespaces, pods, policies }
}
