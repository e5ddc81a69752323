// The control machine: etcd, the API server, its controllers, DNS, and on request Kueue's manager.
import { mkdirSync, writeFileSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { until, type ClusterApi } from './api.ts'
import { apiServer, controllerManager, coreDns, corefile, dnsPort, etcd, scheduler } from './control-daemons.ts'
import { keepRunning, type Daemon } from './daemon.ts'
import { kueue, kueuePort, kueueSettings } from './kueue.ts'
import { openNamespaces, type Namespaces } from './machine.ts'
import { linkHost } from './network.ts'
import { kubeProxy } from './node-daemons.ts'
import type { Cluster } from './settings.ts'
import { answersTcp } from './tcp.ts'

type ControlMachine = { namespaces: Namespaces; daemons: Map<string, Daemon> }

export async function openControl(cluster: Cluster, bin: string): Promise<ControlMachine> {
  const dir = join(cluster.dir, 'control')
  // Kueue reads the certificate of its metrics from this fixed folder, even with metrics off.
  await writeWebhookCertificate(cluster, join(dir, 'etc/kueue/metrics/certs'))
  await writeWebhookCertificate(cluster, webhookCertificates(cluster))
  const namespaces = await openNamespaces(dir, join(bin, 'pause'))
  await linkHost(cluster, namespaces)
  return { namespaces, daemons: new Map() }
}

export async function startApiServer(cluster: Cluster, machine: ControlMachine, api: ClusterApi) {
  start(cluster, machine, etcd(cluster))
  start(cluster, machine, apiServer(cluster))
  await until('the API server', api.answers)
}

export function startControllers(cluster: Cluster, machine: ControlMachine) {
  writeFileSync(join(cluster.dir, 'Corefile'), corefile(cluster))
  for (const argv of [
    controllerManager(cluster),
    scheduler(cluster),
    coreDns(cluster),
    // For calls from the host to services. kube-proxy waits half a minute for its node, so it gets the name of one that joins.
    kubeProxy(cluster, 'node-1'),
  ])
    start(cluster, machine, argv)
}

/** @param folder the folder with the program and its definitions */
export async function startKueue(cluster: Cluster, machine: ControlMachine, api: ClusterApi, folder: string) {
  const { define, hook } = kueue(cluster, folder)
  await define(api)
  const settings = join(cluster.dir, 'kueue.json')
  writeFileSync(settings, JSON.stringify(kueueSettings(cluster, webhookCertificates(cluster))))
  const options = ['--kubeconfig', cluster.kubeconfig, '--feature-gates=VisibilityOnDemand=false']
  start(cluster, machine, ['kueue', '--config', settings, ...options])
  await until("Kueue's webhook", () => answersTcp(cluster.control.address, kueuePort))
  await hook(api)
}

export const dnsAnswers = (cluster: Cluster) =>
  until('the name server', () => answersTcp(cluster.control.address, dnsPort))

function start(cluster: Cluster, { namespaces, daemons }: ControlMachine, argv: string[]) {
  const daemon = keepRunning(namespaces, argv, cluster.logs, 'control')
  daemons.set(daemon.name, daemon)
}

const webhookCertificates = ({ dir }: Cluster) => join(dir, 'webhook')

async function writeWebhookCertificate({ pki }: Cluster, dir: string) {
  mkdirSync(dir, { recursive: true })
  await cp(join(pki, 'webhook.crt'), join(dir, 'tls.crt'))
  await cp(join(pki, 'webhook.key'), join(dir, 'tls.key'))
}
