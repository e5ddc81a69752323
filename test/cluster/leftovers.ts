// What a cluster can leave on this machine: looked for by tests, removed by `down` and by the next start.
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { controlGroupRoots, removeControlGroup } from './control-groups.ts'
import { removeHostLink } from './network.ts'
import { output } from './programs.ts'
import type { Cluster } from './settings.ts'

/** What the kernel ends with the supervisor, in words; empty after that. */
export async function living(cluster: Cluster): Promise<string[]> {
  const isOurs = (line: string) => line.includes(`${cluster.dir}/`)
  const mounts = linesOf('/proc/self/mounts').filter(isOurs)
  const links = (await output('ip', ['-oneline', 'link']))
    .split('\n')
    .filter((line) => line.includes(cluster.host.link))
  const routes = (await output('ip', ['route'])).split('\n').filter((line) => line.includes(cluster.host.link))
  // Each is in a mount namespace that has a part of the cluster's folder laid over /etc.
  const processes = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => linesOf(`/proc/${pid}/mounts`).some(isOurs))
  return [...mounts, ...links, ...routes, ...processes.map((pid) => `process ${pid}`)]
}

/** Everything; empty after `down`. */
export async function leftovers(cluster: Cluster): Promise<string[]> {
  const groups = controlGroupRoots().map((root) => join(root, cluster.cgroup))
  const files = [...groups, cluster.dir, cluster.lock].filter(existsSync)
  const tables = (await output('nft', ['list', 'tables'])).split('\n').filter((line) => line.includes('kube-proxy'))
  return [...(await living(cluster)), ...files, ...tables]
}

/** The kernel takes a moment for the last of it. */
export async function whenEnded(cluster: Cluster) {
  for (let attempt = 0; attempt < 100 && (await living(cluster)).length > 0; attempt++) await sleep(50)
}

export async function removeRemains(cluster: Cluster) {
  await removeHostLink(cluster)
  await removeControlGroup(cluster.cgroup)
  rmSync(cluster.dir, { recursive: true, force: true })
}

/** None when it is gone already, or a kernel thread's. */
function linesOf(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n')
  } catch {
    return []
  }
}
