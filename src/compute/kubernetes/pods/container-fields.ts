// What every container of ours has, whatever its program.
import type { RunSpec } from '../../compute.ts'
import type { JsonObject } from './merge-template.ts'

export const workDir = '/work'
export const modelsDir = '/models'

/** As Pod Security `restricted` wants it. */
export const hardening = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
} satisfies JsonObject

/** Where a read-only container may write. */
export const writableMounts = [
  { name: 'work', mountPath: workDir },
  { name: 'tmp', mountPath: '/tmp' },
] satisfies JsonObject[]

export function variables(values: Record<string, string>): JsonObject[] {
  return Object.entries(values).map(([name, value]) => ({ name, value }))
}

/** Memory is promised and not exceeded; the processor is shared where it is idle. */
export function resourceFields(
  { cpuCount, memoryBytes, gpuCount }: RunSpec['resources'],
  gpuResource: string,
): JsonObject {
  const memory = memoryBytes === undefined ? {} : { memory: String(memoryBytes) }
  const gpus = gpuCount > 0 ? { [gpuResource]: String(gpuCount) } : {}
  return { requests: { cpu: String(cpuCount), ...memory, ...gpus }, limits: { ...memory, ...gpus } }
}
