/**
 * Exit codes of every command:
 * 0 done as asked · 1 refused, or the job did not end as COMPLETED · 2 called wrongly · 3 the service cannot be reached · 130 interrupted
 */
export const exitCodes = { done: 0, failed: 1, usage: 2, unreachable: 3, interrupted: 130 } as const

/** Why a command cannot go on, in a sentence. */
export class CommandError extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode: number = exitCodes.failed) {
    super(message)
    this.exitCode = exitCode
  }
}
