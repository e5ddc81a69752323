// Fields of every container, whatever its program.
import type { RunSpec } from '../../run.ts'
import type { JsonObject } from './merge-template.ts'

export const workDir = '/work'
export const modelsDir = '/models'

/** Pod Security `restricted` requires these. */
export const hardening = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
} satisfies JsonObject

/** The size of the folder also counts towards the container's limit, which is for all folders together. */
export function writableVolumes({ diskBytes }: RunSpec['resources']): JsonObject[] {
  const emptyDir = diskBytes === undefined ? {} : { sizeLimit: String(diskBytes) }
  return writableMounts.map(({ name }) => ({ name, emptyDir }))
}

/** The only folders that a read-only container may write to. */
export const writableMounts = [
  { name: 'work', mountPath: workDir },
  { name: 'tmp', mountPath: '/tmp' },
] satisfies JsonObject[]

export function variables(values: Record<string, string>): JsonObject[] {
  return Object.entries(values).map(([name, value]) => ({ name, value }))
}

/** Memory and disk are guaranteed and limited; idle processors are shared. */
export function resourceFields(
  { cpuCount, memoryBytes, diskBytes, gpuCount }: RunSpec['resources'],
  gpuResource: string,
): JsonObject {
  const memory = memoryBytes === undefined ? {} : { memory: String(memoryBytes) }
  const disk = diskBytes === undefined ? {} : { 'ephemeral-storage': String(diskBytes) }
  const gpus = gpuCount > 0 ? { [gpuResource]: String(gpuCount) } : {}
  return { requests: { cpu: String(cpuCount), ...memory, ...disk, ...gpus }, limits: { ...memory, ...disk, ...gpus } }
}
