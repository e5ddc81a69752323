// host ── control ── node-1, node-2: one link each, all routing in the machines' own network namespaces. The host gets
// one link and two routes, which go with it.
import { output } from './programs.ts'
import type { Namespaces } from './machine.ts'
import type { Cluster, Node } from './settings.ts'

export async function linkHost({ host, control, podRange, serviceRange }: Cluster, machine: Namespaces) {
  await ip('link', 'add', host.link, 'type', 'veth', 'peer', 'name', 'up0', 'netns', String(machine.pid))
  await ip('addr', 'add', `${host.address}/30`, 'dev', host.link)
  await ip('link', 'set', host.link, 'up')
  await machine.run('ip', ['addr', 'add', `${control.address}/30`, 'dev', 'up0'])
  await machine.run('ip', ['link', 'set', 'up0', 'up'])
  for (const range of [podRange, serviceRange]) await ip('route', 'add', range, 'via', control.address)
}

export async function linkNode(node: Node, control: Namespaces, machine: Namespaces) {
  // Only the network namespace is entered, so that the node's process id stays valid.
  const inControl = (...args: string[]) => output('nsenter', ['--target', String(control.pid), '--net', 'ip', ...args])
  await inControl('link', 'add', node.name, 'type', 'veth', 'peer', 'name', 'up0', 'netns', String(machine.pid))
  await inControl('addr', 'add', `${node.link.control}/30`, 'dev', node.name)
  await machine.run('ip', ['addr', 'add', `${node.link.node}/30`, 'dev', 'up0'])
  await machine.run('ip', ['link', 'set', 'up0', 'up'])
  await joinNode(node, control)
  await machine.run('ip', ['route', 'add', 'default', 'via', node.link.control])
  // The bridge of the pods is created before its plug-in does so, because its address is the node's.
  await machine.run('ip', ['link', 'add', 'pods0', 'type', 'bridge'])
  await machine.run('ip', ['addr', 'add', `${node.address}/24`, 'dev', 'pods0'])
  await machine.run('ip', ['link', 'set', 'pods0', 'up'])
}

export async function cutNode(node: Node, control: Namespaces) {
  await control.run('ip', ['link', 'set', node.name, 'down'])
}

export async function joinNode(node: Node, control: Namespaces) {
  await control.run('ip', ['link', 'set', node.name, 'up'])
  // Taking a link down removes its routes.
  await control.run('ip', ['route', 'replace', node.pods, 'via', node.link.node])
}

/** The kernel removes the link of a killed machine some time later, but its name is needed again at once. */
export async function forgetLink(node: Node, control: Namespaces) {
  await control.run('ip', ['link', 'del', node.name]).catch(() => {})
}

export async function removeHostLink({ host }: Cluster) {
  await ip('link', 'del', host.link).catch(() => {})
}

function ip(...args: string[]) {
  return output('ip', args)
}
