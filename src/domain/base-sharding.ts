// Whether the processes of a training share its frozen base. runtime/anneal_runtime/trainer/sharding.py decides by the same rule.
import { invalidInput } from './service-error.ts'
import type { TrainingArgs } from './training-args.ts'
import type { TrainingMethod } from './training-method.ts'

/** `auto` shards a base that fills more of a GPU. */
const largestShareOfGpu = 0.5

type Asked = { args: TrainingArgs; method: TrainingMethod | null }

/**
 * A recommendation of the model for `shard_base` has no effect where a request needs a whole base.
 * @throws ServiceError invalid_input when the request itself asks for both
 */
export function resolveSharding({ args, method }: Asked, givenArgs: readonly string[]): void {
  if (args.shard_base !== true) return
  const reason = needsWholeBase({ args, method })
  if (reason === null) return
  if (givenArgs.includes('shard_base'))
    throw invalidInput('finetune_args.shard_base', `shard_base cannot be true here: ${reason}. Leave shard_base out.`)
  delete args.shard_base
}

function needsWholeBase({ args, method }: Asked): string | null {
  if (args.load_in_4bit) return 'a base in 4 bits stays whole'
  return method?.type === 'reinforcement' ? 'reinforcement samples from a whole base' : null
}

export const mayShareBase = (asked: Asked): boolean => asked.args.shard_base !== false && needsWholeBase(asked) === null

/** In how many shares a training on GPUs keeps its base. `weightsGib` are those of the whole base. */
export function sharesOfBase(
  { args, method }: Asked,
  { gpuCount, weightsGib, gpuMemoryGib }: { gpuCount: number; weightsGib: number; gpuMemoryGib: number | null },
): number {
  if (!mayShareBase({ args, method })) return 1
  const isWanted = args.shard_base === true || (gpuMemoryGib !== null && weightsGib > largestShareOfGpu * gpuMemoryGib)
  return isWanted ? Math.max(1, gpuCount) : 1
}
