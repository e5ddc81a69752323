// Kueue: its definitions and webhooks as its module ships them, with the webhooks pointed at a manager that runs beside
// the API server instead of in a pod.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { until, type ClusterApi, type KubernetesObject } from './api.ts'
import type { Cluster } from './settings.ts'

export const kueuePort = 9443
const definitionsPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const webhooksPath = '/apis/admissionregistration.k8s.io/v1'

type Webhook = {
  name: string
  clientConfig: { service?: { path: string }; url?: string; caBundle?: string }
  [field: string]: unknown
}
type Definition = KubernetesObject & { spec: { versions: unknown[]; conversion?: unknown } }

/** @param folder the folder with the program and its kueue.json */
export function kueue({ pki, control }: Cluster, folder: string) {
  const objects = JSON.parse(readFileSync(join(folder, 'kueue.json'), 'utf8')) as KubernetesObject[]
  const caBundle = readFileSync(join(pki, 'ca.crt')).toString('base64')
  const clientConfig = (path: string) => ({ url: `https://${control.address}:${kueuePort}${path}`, caBundle })
  return { define, hook }

  async function define(api: ClusterApi) {
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kueue-system' } }
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
          return isWanted(path) ? { ...webhook, clientConfig: clientConfig(path) } : []
        })
        const metadata = { name: `kueue-${configuration.metadata.name}` }
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

export function kueueSettings({ control }: Cluster, certDir: string) {
  return {
    apiVersion: 'config.kueue.x-k8s.io/v1beta2',
    kind: 'Configuration',
    health: { healthProbeBindAddress: `127.0.0.1:${kueuePort + 100}` },
    webhook: { host: control.address, port: kueuePort, certDir },
    leaderElection: { leaderElect: false },
    internalCertManagement: { enable: false },
    metrics: { bindAddress: '0' },
    clientConnection: { qps: 300, burst: 500 },
    integrations: { frameworks: ['batch/job'] },
  }
}

/** The webhooks of other kinds would refuse every pod and Deployment while the manager is down. */
function isWanted(path: string): boolean {
  return /batch-v1-job$|kueue-x-k8s-io/.test(path)
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
