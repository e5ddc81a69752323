// Everything that a cluster can leave on this machine. Tests look for it; `down` and the next start remove it.
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { controlGroupRoots, removeControlGroup } from './control-groups.ts'
import { removeHostLink } from './network.ts'
import { output } from './programs.ts'
import type { Cluster } from './settings.ts'

/** Sentences about everything that the kernel ends with the supervisor. Empty once all is gone. */
export async function living(cluster: Cluster): Promise<string[]> {
  const isOurs = (line: string) => line.includes(`${cluster.dir}/`)
  const mounts = linesOf('/proc/self/mounts').filter(isOurs)
  const links = (await output('ip', ['-oneline', 'link']))
    .split('\n')
    .filter((line) => line.includes(cluster.host.link))
  const routes = (await output('ip', ['route'])).split('\n').filter((line) => line.includes(cluster.host.link))
  // Each process is in a mount namespace in which a part of the cluster's folder is mounted over /etc.
  const processes = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => linesOf(`/proc/${pid}/mounts`).some(isOurs))
  return [...mounts, ...links, ...routes, ...processes.map((pid) => `process ${pid}`)]
}

/** Sentences about all leftovers. Empty after `down`. */
export async function leftovers(cluster: Cluster): Promise<string[]> {
  const groups = controlGroupRoots().map((root) => join(root, cluster.cgroup))
  const files = [...groups, cluster.dir, cluster.lock].filter(existsSync)
  const tables = (await output('nft', ['list', 'tables'])).split('\n').filter((line) => line.includes('kube-proxy'))
  return [...(await living(cluster)), ...files, ...tables]
}

/** Waits, because the kernel takes a moment to remove the last of them. */
export async function whenEnded(cluster: Cluster) {
  for (let attempt = 0; attempt < 100 && (await living(cluster)).length > 0; attempt++) await sleep(50)
}

export async function removeRemains(cluster: Cluster) {
  await removeHostLink(cluster)
  await removeControlGroup(cluster.cgroup)
  rmSync(cluster.dir, { recursive: true, force: true })
}

/** Empty when the process is gone, and for kernel threads. */
function linesOf(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n')
  } catch {
    return []
  }
}
