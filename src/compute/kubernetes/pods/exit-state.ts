// Reads the end of a run from its program's exit code.
import { constants } from 'node:os'
import type { FailedState, FailureReason } from '../../run.ts'

const signalNames = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]))

export function failed(
  uid: string,
  exitCode: number | null,
  signal: string | null,
  reason: FailureReason,
  message: string,
): FailedState {
  return { state: 'failed', uid, exitCode, signal, reason, message }
}

export function readExit(uid: string, exitCode: number): FailedState {
  const signal = signalOf({ exitCode, signal: 0 })
  if (signal) return failed(uid, exitCode, signal, 'killed', `The program was ended by ${signal}.`)
  return failed(uid, exitCode, null, 'exited', `The program ended with exit code ${exitCode}.`)
}

export function signalOf(exit: { exitCode: number; signal: number } | null): string | null {
  return exit && (signalNames.get(exit.signal || exit.exitCode - 128) ?? null)
}
