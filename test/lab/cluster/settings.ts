// Where one cluster keeps things and which addresses it has. Clusters beside each other differ in their number alone:
// each has three machines (control, node-1, node-2), which are namespaces of this one, so that no port can clash.
import { join } from 'node:path'

export type Cluster = ReturnType<typeof clusterOf>
export type Node = Cluster['nodes'][number]
export type Machine = 'control' | 'node-1' | 'node-2'

const sharedMemory = '/dev/shm'
const mostClusters = 8
export const apiPort = 6443
export const kubeletPort = 10250

export function clusterOf(number: number) {
  const net = `10.${244 + number}.`
  const services = `10.${96 + number}`
  // The folder is in memory: no file has to reach a disk, and deleting the folder takes no time.
  const dir = join(sharedMemory, `anneal-cluster-${number}`)
  return {
    number,
    /** The first bytes of all addresses except those of services. */
    net,
    dir,
    lock: `${dir}.lock`,
    pki: join(dir, 'pki'),
    logs: join(dir, 'logs'),
    kubeconfig: join(dir, 'pki/admin.kubeconfig'),
    controlSocket: join(dir, 'control.sock'),
    cgroup: `/anneal-cluster-${number}`,
    podRange: `${net}0.0/16`,
    serviceRange: `${services}.0.0/16`,
    apiService: `${services}.0.1`,
    /** The address of this machine for pods. */
    host: { address: `${net}0.1`, link: `annealc${number}` },
    control: { address: `${net}0.2` },
    nodes: ([1, 2] as const).map((node) => ({
      name: `node-${node}` as const,
      dir: join(dir, `node-${node}`),
      cgroup: `/anneal-cluster-${number}/node-${node}`,
      pods: `${net}${node}.0/24`,
      address: `${net}${node}.1`,
      link: { control: `${net}0.${4 * node + 1}`, node: `${net}0.${4 * node + 2}` },
      containerd: join(dir, `node-${node}`, 'containerd.sock'),
    })),
  }
}

export function everyCluster(): Cluster[] {
  return Array.from({ length: mostClusters }, (_, number) => clusterOf(number))
}
