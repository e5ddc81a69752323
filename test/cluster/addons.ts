// Kueue and JobSet: their definitions and webhooks as their modules ship them, with the webhooks pointed at a manager
// that runs beside the API server instead of in a pod.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { until, type ClusterApi, type KubernetesObject } from './api.ts'
import type { Cluster } from './settings.ts'

export type Addon = ReturnType<typeof kueue>

export const dnsPort = 53
const ports = { kueue: 9443, jobset: 9444 }
const definitionsPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const webhooksPath = '/apis/admissionregistration.k8s.io/v1'

type Webhook = {
  name: string
  clientConfig: { service?: { path: string }; url?: string; caBundle?: string }
  [field: string]: unknown
}
type Definition = KubernetesObject & { spec: { versions: unknown[]; conversion?: unknown } }

export function kueue(cluster: Cluster, certificates: string, bin: string) {
  const settings = {
    apiVersion: 'config.kueue.x-k8s.io/v1beta2',
    kind: 'Configuration',
    ...listening(cluster, ports.kueue, certificates),
    metrics: { bindAddress: '0' },
    clientConnection: { qps: 300, burst: 500 },
    integrations: { frameworks: ['batch/job', 'jobset.x-k8s.io/jobset'] },
  }
  const options = ['--kubeconfig', cluster.kubeconfig, '--feature-gates=VisibilityOnDemand=false']
  // Only what is watched: the webhooks of other kinds would refuse every pod and Deployment while the manager is down.
  const isWanted = (path: string) => /batch-v1-job$|kueue-x-k8s-io|jobset/.test(path)
  return addon({ name: 'kueue', port: ports.kueue, settings, options, isWanted, narrow: (hook) => hook }, cluster, bin)
}

export function jobSet(cluster: Cluster, certificates: string, bin: string) {
  const settings = {
    apiVersion: 'config.jobset.x-k8s.io/v1alpha1',
    kind: 'Configuration',
    ...listening(cluster, ports.jobset, certificates),
    metrics: { bindAddress: '0' },
  }
  const options = ['--kubeconfig', cluster.kubeconfig]
  // As its own kustomization has it: other pods do not pass through.
  const ownPods = { matchExpressions: [{ key: 'jobset.sigs.k8s.io/jobset-name', operator: 'Exists' }] }
  const narrow = (hook: Webhook, path: string) =>
    path.endsWith('v1-pod') ? { ...hook, objectSelector: ownPods } : hook
  return addon({ name: 'jobset', port: ports.jobset, settings, options, isWanted: () => true, narrow }, cluster, bin)
}

type Description = {
  name: 'kueue' | 'jobset'
  port: number
  settings: Record<string, unknown>
  options: string[]
  isWanted: (path: string) => boolean
  narrow: (hook: Webhook, path: string) => Webhook
}

function addon(description: Description, { pki, control }: Cluster, bin: string) {
  const { name, port, isWanted, narrow } = description
  const objects = JSON.parse(readFileSync(join(bin, 'manifests', `${name}.json`), 'utf8')) as KubernetesObject[]
  const caBundle = readFileSync(join(pki, 'ca.crt')).toString('base64')
  const clientConfig = (path: string) => ({ url: `https://${control.address}:${port}${path}`, caBundle })
  return { ...description, define, hook }

  async function define(api: ClusterApi) {
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: `${name}-system` } }
    await api.apply('/api/v1/namespaces', namespace)
    const definitions = objects.filter(isDefinition).map(withConversion)
    await Promise.all(definitions.map((definition) => api.apply(definitionsPath, definition)))
    await Promise.all(
      definitions.map(({ metadata }) => until(`CRD ${metadata.name}`, () => isServed(api, metadata.name))),
    )
  }

  async function hook(api: ClusterApi) {
    const configurations = objects.filter(({ kind }) => kind.endsWith('WebhookConfiguration'))
    await Promise.all(
      configurations.map((configuration) => {
        const webhooks = (configuration['webhooks'] as Webhook[]).flatMap((webhook) => {
          const path = webhook.clientConfig.service?.path ?? ''
          return isWanted(path) ? narrow({ ...webhook, clientConfig: clientConfig(path) }, path) : []
        })
        const metadata = { name: `${name}-${configuration.metadata.name}` }
        const kinds = `${configuration.kind.toLowerCase()}s`
        return api.apply(`${webhooksPath}/${kinds}`, { ...configuration, metadata, webhooks })
      }),
    )
  }

  function withConversion(definition: Definition): Definition {
    if (definition.spec.versions.length < 2) return definition
    const webhook = { conversionReviewVersions: ['v1'], clientConfig: clientConfig('/convert') }
    return { ...definition, spec: { ...definition.spec, conversion: { strategy: 'Webhook', webhook } } }
  }
}

function listening({ control }: Cluster, port: number, certDir: string) {
  return {
    health: { healthProbeBindAddress: `127.0.0.1:${port + 100}` },
    webhook: { host: control.address, port, certDir },
    leaderElection: { leaderElect: false },
    internalCertManagement: { enable: false },
  }
}

function isDefinition(object: KubernetesObject): object is Definition {
  return object.kind === 'CustomResourceDefinition'
}

async function isServed(api: ClusterApi, name: string) {
  const { status } = await api.get<{ status?: { conditions?: { type: string; status: string }[] } }>(
    `${definitionsPath}/${name}`,
  )
  return (
    status?.conditions?.some((condition) => condition.type === 'Established' && condition.status === 'True') ?? false
  )
}
