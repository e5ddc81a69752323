// The product on the cluster: k8s/overlays/test, which the chart renders, with the addresses of this run's servers. Afterwards connection.json is
// written as the embedded stack writes it, so that test/support/stack.ts speaks to this one.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../../tools/paths.mjs'
import { parseCatalogue } from '../../../src/domain/catalogue.ts'
import { writeConnection } from '../../../src/embedded/write-connection.ts'
import { createApi, type ClusterApi } from './api.ts'
import { output } from './programs.ts'
import { providePythonPackages } from './python-packages.ts'
import type { Servers } from './servers.ts'
import { apiPort, clusterOf, type Cluster } from './settings.ts'

const overlay = join(root, 'k8s/overlays/test/anneal.yaml')
const namespace = 'anneal'
const runsNamespace = 'anneal-runs'

export async function deploy(cluster: Cluster, bin: string, servers: Servers) {
  const api = createApi(cluster)
  const kubectl = (args: string[], input?: string) =>
    output(join(bin, 'kubectl'), ['--kubeconfig', cluster.kubeconfig, ...args], input === undefined ? {} : { input })
  await makeNamespaces(api)
  await api.apply(`/api/v1/namespaces/${namespace}/secrets`, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'anneal-secrets' },
    stringData: {
      ...servers.environment,
      // The worker reaches the API server through the fault proxy, which counts its calls and can fail them.
      KUBERNETES_SERVICE_HOST: cluster.host.address,
      KUBERNETES_SERVICE_PORT: String(apiPort),
    },
  })
  const manifests = withPorts(readFileSync(overlay, 'utf8').replaceAll(clusterOf(0).net, cluster.net), servers)
  await kubectl(['apply', '--server-side', '--filename', '-'], manifests)
  await providePythonPackages(api, runsNamespace)
  for (const name of ['anneal-api', 'anneal-worker'])
    await kubectl(['--namespace', namespace, 'rollout', 'status', `deployment/${name}`, '--timeout=180s'])
  await announce(api, servers)
  api.close()
}

function withPorts(manifests: string, { ports }: Servers): string {
  return Object.entries(ports).reduce(
    (text, [named, actual]) => text.replaceAll(`port: ${named}\n`, `port: ${actual}\n`),
    manifests,
  )
}

/** Created before the rest, because the first pod needs the Secret. */
async function makeNamespaces(api: ClusterApi) {
  for (const name of [namespace, runsNamespace])
    await api.apply('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
}

async function announce(api: ClusterApi, { home, secrets, at }: Servers) {
  const address = async (service: string, port: number) => {
    const { spec } = await api.get<{ spec: { clusterIP: string } }>(
      `/api/v1/namespaces/${namespace}/services/${service}`,
    )
    return `http://${spec.clusterIP}:${port}`
  }
  const apiUrl = await address('anneal-api', 8080)
  const internalUrl = await address('anneal-internal', 8081)
  const adminUrl = await address('anneal-admin', 8083)
  const catalogue = parseCatalogue(JSON.parse(readFileSync(join(root, 'models.json'), 'utf8')))
  const noProcesses = { postgres: 0, temporal: 0, s3: 0, api: 0, worker: 0 }
  writeConnection(
    home,
    { apiUrl, internalUrl, adminUrl, ...at },
    secrets,
    catalogue.defaultCompletionModel.name,
    noProcesses,
  )
}
