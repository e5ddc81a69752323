// The manifests as a cluster gets them.
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { cacheDir, root } from '../../tools/paths.mjs'

export type Manifest = {
  apiVersion: string
  kind: string
  metadata: { name: string; namespace?: string; labels?: Record<string, string> }
  spec: Record<string, unknown>
  data?: Record<string, string>
  stringData?: Record<string, string>
  rules?: { apiGroups: string[]; resources: string[]; verbs: string[] }[]
}
type Container = {
  name: string
  image: string
  command?: string[]
  args?: string[]
  env?: { name: string }[]
  envFrom?: { configMapRef?: { name: string }; secretRef?: { name: string } }[]
  resources?: { requests?: Record<string, string>; limits?: Record<string, string> }
  securityContext?: Record<string, unknown>
  volumeMounts?: { name: string; mountPath: string }[]
  startupProbe?: unknown
  livenessProbe?: unknown
  readinessProbe?: unknown
}
export type PodSpec = {
  containers: Container[]
  initContainers?: Container[]
  volumes?: Record<string, unknown>[]
  securityContext?: Record<string, unknown>
  automountServiceAccountToken?: boolean
  serviceAccountName?: string
  terminationGracePeriodSeconds?: number
  hostNetwork?: boolean
  hostPID?: boolean
  hostIPC?: boolean
}

const k8s = join(root, 'k8s')
/** That of the test cluster, or the machine's own. */
export const kubectl = findKubectl()

export const overlays = ['test', 'production'] as const

export const render = (overlay: (typeof overlays)[number]): Manifest[] =>
  parse(readFileSync(join(k8s, `overlays/${overlay}/anneal.yaml`), 'utf8'))

/** Every object of every file that a cluster may get. */
export const filesAsTheyLie = (): { file: string; manifests: Manifest[] }[] =>
  globSync('{base,components,overlays}/**/anneal.yaml', { cwd: k8s }).map((file) => ({
    file,
    manifests: parse(readFileSync(join(k8s, file), 'utf8')),
  }))

export function podSpecs(manifests: Manifest[]): { name: string; spec: PodSpec }[] {
  return manifests.flatMap(({ kind, metadata: { name }, spec }) =>
    ['Deployment', 'Job', 'StatefulSet', 'DaemonSet'].includes(kind)
      ? [{ name, spec: (spec as { template: { spec: PodSpec } }).template.spec }]
      : [],
  )
}

export function parse(text: string): Manifest[] {
  return parseAllDocuments(text)
    .map((document) => {
      if (document.errors[0]) throw document.errors[0]
      return document.toJS() as Manifest | null
    })
    .filter((manifest) => manifest !== null)
}

function findKubectl(): string | null {
  const built = globSync('cluster-*/kubectl', { cwd: cacheDir }).map((path) => join(cacheDir, path))
  const onPath = (process.env['PATH'] ?? '').split(':').map((dir) => join(dir, 'kubectl'))
  return [...built, ...onPath].find((path) => existsSync(path)) ?? null
}
