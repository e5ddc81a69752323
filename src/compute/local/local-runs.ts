// Runs as detached processes of this machine, each with a folder HOME/runs/<name>, which any later worker finds again.
import { mkdirSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { ComputeError } from '../errors.ts'
import { assertRunName, isRunName } from '../run-name.ts'
import { isEndState } from '../run.ts'
import type { Launched, LogRange, LogSlice, RunProgram, RunRef, RunState, RunSummary, WatchOptions } from '../run.ts'
import type { TerminateOptions, Terminated } from '../trainers.ts'
import { launchRun } from './launch.ts'
import { withDefaults, type LocalComputeOptions, type LocalOptions, type LocalSpec } from './local-options.ts'
import { readLogSlice } from './logs.ts'
import { createOrphanEnder } from './orphan-processes.ts'
import { removeEnded } from './remove-ended.ts'
import { isAnotherRun, readRecord, readRunSnapshot } from './run-folder.ts'
import type { RunSnapshot } from './run-folder.ts'
import { readRunState } from './run-state.ts'
import { terminateRun } from './terminate.ts'
import { createRunWatcher } from './watch.ts'

/** The verbs for the runs of one program. */
export function createLocalRuns(given: LocalComputeOptions, program: RunProgram) {
  const options = withDefaults(given, program)
  const { runsDir } = options
  mkdirSync(runsDir, { recursive: true, mode: 0o700 })
  const watcher = createRunWatcher(runsDir)

  return {
    launch: (spec: LocalSpec): Promise<Launched> => verb(spec, () => launchRun(options, spec)),
    probe: (run: RunRef): Promise<RunState> => verb(run, () => probe(runsDir, run)),
    watch: (run: RunRef, watchOptions: WatchOptions) => {
      const endOrphans = createOrphanEnder(options.orphanGraceMs)
      return verb(run, () => watcher.watch(run.name, () => probe(runsDir, run, endOrphans), watchOptions))
    },
    readLogs: (run: RunRef, range?: LogRange) => verb(run, () => readRunLogs(runsDir, run, range)),
    terminate: (run: RunRef, ending: TerminateOptions) => verb(run, () => endRun(options, run, ending)),
    list: (labels: Record<string, string> = {}) => retryable(() => listRuns(runsDir, program, labels)),
    removeEndedRuns: ({ endedForMs }: { endedForMs: number }) =>
      retryable(() => removeEnded(runsDir, program, endedForMs)),
    close: () => options.prepared?.close(),
  }
}

async function probe(runsDir: string, run: RunRef, onSnapshot?: (snapshot: RunSnapshot) => void): Promise<RunState> {
  try {
    const snapshot = await readRunSnapshot(runsDir, run.name)
    if (!snapshot || isAnotherRun(snapshot, run)) return { state: 'gone' }
    onSnapshot?.(snapshot)
    return readRunState(snapshot)
  } catch (error) {
    return { state: 'unreachable', message: messageOf(error) }
  }
}

async function readRunLogs(runsDir: string, run: RunRef, range?: LogRange): Promise<LogSlice | null> {
  const snapshot = await readRunSnapshot(runsDir, run.name)
  if (!snapshot || isAnotherRun(snapshot, run)) return null
  const slice = await readLogSlice(join(runsDir, run.name, 'log'), range)
  return slice ?? { text: '', nextOffsetBytes: 0, sizeBytes: 0 }
}

async function endRun(place: LocalOptions, run: RunRef, options: TerminateOptions): Promise<Terminated> {
  const { runsDir } = place
  await terminateRun(place, run, options)
  const end = await probe(runsDir, run)
  if (!isEndState(end))
    throw new ComputeError('unavailable', `The run ${run.name} is ${end.state} after its termination.`)
  const { logTailBytes } = options
  if (end.state === 'gone' || !logTailBytes) return { end, logTail: null }
  const log = await readRunLogs(runsDir, run, { offsetBytes: -logTailBytes, limitBytes: logTailBytes })
  return { end, logTail: log?.text ?? null }
}

async function listRuns(runsDir: string, program: RunProgram, labels: Record<string, string>): Promise<RunSummary[]> {
  const names = (await readdir(runsDir)).filter(isRunName)
  const runs = await Promise.all(names.map((name) => summarize(runsDir, program, name)))
  const hasLabels = (run: RunSummary) => Object.entries(labels).every(([key, value]) => run.labels[key] === value)
  return runs.filter((run) => run !== null).filter(hasLabels)
}

async function summarize(runsDir: string, program: RunProgram, name: string): Promise<RunSummary | null> {
  const state = await probe(runsDir, { name })
  if (state.state === 'gone') return null
  const record = await readRecord(join(runsDir, name))
  if (record?.program !== program) return null
  return { name, uid: record.uid, labels: record.labels, createdAt: new Date(record.createdAt), state }
}

function verb<T>({ name }: { name: string }, work: () => Promise<T>): Promise<T> {
  return retryable(() => {
    assertRunName(name)
    return work()
  })
}

/** Turns an error of the disk or the kernel into an error after which callers try again. */
async function retryable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const isSystemError = error instanceof Error && 'syscall' in error
    throw isSystemError ? new ComputeError('unavailable', messageOf(error), { cause: error }) : error
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
