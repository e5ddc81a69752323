import { failed, ok, warning, type Verdict } from '../../../domain/finding.ts'
import type { ObjectReader } from './cluster-objects.ts'

/** Names under which device plugins offer accelerators. */
const isAccelerator = (name: string) => /\/.*(gpu|mig-|gaudi|neuron|npu|tpu)/.test(name)

/** @param asked models of the catalogue that ask for GPUs */
export async function checkGpus(
  objects: ObjectReader,
  resource: string,
  asked: readonly { name: string; gpuCount: number }[],
): Promise<Verdict> {
  if (asked.length === 0) return ok('no model of the catalogue asks for a GPU')
  const nodes = await objects.nodes()
  const most = Math.max(0, ...nodes.map(({ status }) => Number(status?.allocatable?.[resource] ?? 0)))
  const others = new Set(nodes.flatMap(({ status }) => Object.keys(status?.allocatable ?? {}).filter(isAccelerator)))
  others.delete(resource)
  const tooLarge = asked.filter(({ gpuCount }) => gpuCount > most).map(({ name }) => name)
  if (most === 0 && others.size > 0)
    return failed(
      `no node offers ${resource}; nodes offer ${[...others].toSorted().join(', ')}`,
      'Set ANNEAL_GPU_RESOURCE to the name that the nodes offer, and cover it in Kueue.',
    )
  if (tooLarge.length > 0)
    return warning(
      `${most === 0 ? `no node offers ${resource}` : `no node offers more than ${most} of ${resource}`}, but these models ask for more: ${tooLarge.join(', ')}`,
      'Right where such nodes are added on demand. Else install the device plugin, or change gpuCount in the catalogue.',
    )
  return ok(`nodes offer up to ${most} of ${resource}`)
}
