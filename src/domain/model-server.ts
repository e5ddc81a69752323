// When a model server that ended is started again. Pure: the workflow calls it, so a change of its answers needs `patched`.
import type { AttemptCause } from './attempt-cause.ts'

/** Why a server ended: as for a trainer, or that it never became ready, or that the cluster will not have it. */
type ModelServerCause = AttemptCause | 'not_ready' | 'refused'

export type ModelServerEnd = {
  cause: ModelServerCause
  /** One sentence for callers; operators find the end of the log in further lines. */
  message: string
}

/** A server that lasted this long was started well: what ended it is not held against the next start. */
const goodRunMs = 60_000
const failuresAllowed = 5
/** Trying again at once meets the same. */
const lastingCauses: readonly ModelServerCause[] = ['model_unavailable', 'unsupported_runtime']

type Restart = { next: 'restart'; failures: number; backOffMs: number } | { next: 'give_up' }

/**
 * @param failures ends in a row, before this one, of servers that did not last
 * @param readyForMs 0 when it never was
 */
export function decideRestart({
  end,
  failures: before,
  readyForMs,
}: {
  end: ModelServerEnd
  failures: number
  readyForMs: number
}): Restart {
  if (lastingCauses.includes(end.cause)) return { next: 'give_up' }
  const failures = readyForMs >= goodRunMs ? 0 : before + 1
  if (failures >= failuresAllowed) return { next: 'give_up' }
  return { next: 'restart', failures, backOffMs: Math.min(1000 * 2 ** Math.max(0, failures - 1), 60_000) }
}
