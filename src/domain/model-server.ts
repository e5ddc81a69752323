// Decides whether an ended model server starts again. The workflow calls it: a changed decision needs `patched`.
import type { AttemptCause } from './attempt-cause.ts'

/** `not_ready`: it never became ready. `refused`: the cluster does not accept its pod. The rest is as for a trainer. */
type ModelServerCause = AttemptCause | 'not_ready' | 'refused'

export type ModelServerEnd = {
  cause: ModelServerCause
  /** The first line is for callers; further lines hold the end of the log for operators. */
  message: string
}

/** The first line of a server's message: the rest is the end of its log, which is for operators. */
export const sentenceOf = (server: { message: string | null } | null) => server?.message?.split('\n', 1)[0]

/** A server that was ready this long does not count as a failed start. */
const goodRunMs = 60_000
const failuresAllowed = 5
/** A restart does not cure these. */
const lastingCauses: readonly ModelServerCause[] = ['model_unavailable', 'unsupported_runtime']

type Restart = { next: 'restart'; failures: number; backOffMs: number } | { next: 'give_up' }

/**
 * @param failures failed starts in a row before this end
 * @param readyForMs 0 when the server was never ready
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
