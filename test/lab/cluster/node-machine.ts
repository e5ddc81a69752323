// A node: containerd, the kubelet and kube-proxy in namespaces of their own. A node can be killed like a machine that loses
// power, and started again with the content of its disk.
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { until, type ClusterApi } from './api.ts'
import { makeControlGroup, removeControlGroup } from './control-groups.ts'
import { keepRunning, type Daemon } from './daemon.ts'
import { openNamespaces, type Namespaces } from './machine.ts'
import { forgetLink, linkNode } from './network.ts'
import { containerd, containerdSettings, kubelet, kubeletSettings, kubeProxy, podNetwork } from './node-daemons.ts'
import { output } from './programs.ts'
import type { Cluster, Node } from './settings.ts'

export type NodeMachine = Awaited<ReturnType<typeof openNode>>

/** Its containerd runs at once; the kubelet needs the API server and is started by `join`. */
export async function openNode(cluster: Cluster, node: Node, control: Namespaces, bin: string) {
  const daemons = new Map<string, Daemon>()
  const policies = join(node.dir, 'policies.nft')
  let namespaces = await boot()
  let isUp = true
  return { daemons, join: startKubelet, importImage, enforce, kill, revive }

  async function boot() {
    for (const name of ['cni', 'kubelet']) mkdirSync(join(node.dir, name), { recursive: true })
    // A kill leaves sockets, and the state of containers that are gone.
    for (const name of ['containerd.sock', 'containerd.sock.ttrpc', 'containerd/state', 'addresses'])
      rmSync(join(node.dir, name), { recursive: true, force: true })
    writeFileSync(join(node.dir, 'containerd.toml'), containerdSettings(node, join(bin, 'cni')))
    writeFileSync(join(node.dir, 'cni/10-pods.conflist'), JSON.stringify(podNetwork(node)))
    writeFileSync(join(node.dir, 'kubelet.json'), JSON.stringify(kubeletSettings(cluster, node)))
    makeControlGroup(node.cgroup)
    const opened = await openNamespaces(node.dir, join(bin, 'pause'))
    await linkNode(node, control, opened)
    if (existsSync(policies)) await opened.run('nft', ['--file', policies])
    start(opened, containerd(node))
    while (!existsSync(node.containerd)) await sleep(20)
    return opened
  }

  function startKubelet() {
    start(namespaces, kubelet(cluster, node))
    start(namespaces, kubeProxy(cluster, node.name))
  }

  function start(machine: Namespaces, argv: string[]) {
    const daemon = keepRunning(machine, argv, cluster.logs, node.name)
    daemons.set(daemon.name, daemon)
  }

  async function importImage(archive: string) {
    await output('ctr', ['--address', node.containerd, '--namespace', 'k8s.io', 'images', 'import', archive])
  }

  async function enforce(rules: string) {
    writeFileSync(policies, rules)
    if (isUp) await namespaces.run('nft', ['--file', policies])
  }

  async function kill() {
    isUp = false
    // The daemons are told to stay down, then the end of the namespaces ends all of them at once.
    const held = [...daemons.values()].map((daemon) => daemon.stop)
    await Promise.all([namespaces.close(), ...held.map((stop) => stop())])
    await forgetLink(node, control)
    await removeControlGroup(node.cgroup)
  }

  async function revive() {
    namespaces = await boot()
    isUp = true
    startKubelet()
  }
}

export async function whenReady(api: ClusterApi, { name }: Node) {
  type Status = { status?: { conditions?: { type: string; status: string }[] } }
  await until(`${name} Ready`, async () => {
    const { status } = await api.get<Status>(`/api/v1/nodes/${name}`)
    return status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True')
  })
}
