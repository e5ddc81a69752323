import { outOfDiskMessage, wroteTooMuch } from '../out-of-disk.ts'
import type { FailureReason, RunState } from '../run.ts'
import type { RunSnapshot } from './run-folder.ts'

/** The state of a run by its processes and its folder; a living process outweighs a recorded exit. */
export function readRunState(snapshot: RunSnapshot): RunState {
  if (snapshot.groupAlive) return { state: 'running', uid: snapshot.uid }
  if (snapshot.exit && snapshot.diskLimitBytes !== null) return readOutOfDisk(snapshot, snapshot.diskLimitBytes)
  if (snapshot.exit) return readExit(snapshot.uid, snapshot.exit, snapshot.terminated)
  // The watcher is about to record the exit.
  if (snapshot.watcherAlive) return { state: 'running', uid: snapshot.uid }
  if (snapshot.terminated)
    return failed(snapshot.uid, null, null, 'killed', 'The run was stopped and its exit code is unknown.')
  return failed(
    snapshot.uid,
    null,
    null,
    'lost',
    'Every process of the run is gone, and its exit code was not recorded.',
  )
}

function readExit(uid: string, exit: NonNullable<RunSnapshot['exit']>, terminated: boolean): RunState {
  if (exit.signal) return failed(uid, exit.code, exit.signal, 'killed', `The program was ended by ${exit.signal}.`)
  if (exit.code === 0) return { state: 'succeeded', uid }
  const message = `The program ended with exit code ${exit.code}.`
  return failed(uid, exit.code, null, terminated ? 'killed' : 'exited', message)
}

function readOutOfDisk({ uid, exit }: RunSnapshot, limitBytes: number): RunState {
  const message = outOfDiskMessage(wroteTooMuch(limitBytes))
  return failed(uid, exit?.code ?? null, exit?.signal ?? null, 'out_of_disk', message)
}

function failed(
  uid: string,
  exitCode: number | null,
  signal: string | null,
  reason: FailureReason,
  message: string,
): RunState {
  return { state: 'failed', uid, exitCode, signal, reason, message }
}
