import type { PodSpec } from './manifests.ts'

const allowedVolumes = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'persistentVolumeClaim',
  'projected',
  'secret',
]

/** Lists how a pod violates the Pod Security standard `restricted` (kubernetes.io/docs/concepts/security/pod-security-standards). */
export function violations(pod: PodSpec): string[] {
  const found: string[] = []
  const wants = (holds: boolean, what: string) => void (holds || found.push(what))
  for (const field of ['hostNetwork', 'hostPID', 'hostIPC'] as const) wants(!pod[field], field)
  for (const volume of pod.volumes ?? []) {
    const { name, ...source } = volume
    wants(
      Object.keys(source).every((kind) => allowedVolumes.includes(kind)),
      `volume ${String(name)}`,
    )
  }
  const ofPod = pod.securityContext ?? {}
  for (const { name, securityContext = {} } of [...pod.containers, ...(pod.initContainers ?? [])]) {
    const of = { ...ofPod, ...securityContext }
    const seccomp = (of['seccompProfile'] as { type?: string } | undefined)?.type
    const capabilities = of['capabilities'] as { drop?: string[]; add?: string[] } | undefined
    wants(of['runAsNonRoot'] === true, `${name}: runAsNonRoot`)
    wants(of['runAsUser'] !== 0, `${name}: runAsUser`)
    wants(of['allowPrivilegeEscalation'] === false, `${name}: allowPrivilegeEscalation`)
    wants(of['privileged'] !== true, `${name}: privileged`)
    wants(seccomp === 'RuntimeDefault' || seccomp === 'Localhost', `${name}: seccompProfile`)
    wants(capabilities?.drop?.includes('ALL') === true && !capabilities.add?.length, `${name}: capabilities`)
  }
  return found
}
