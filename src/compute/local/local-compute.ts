import { mkdirSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import type {
  Compute,
  LogRange,
  LogSlice,
  RunFilter,
  RunProgram,
  RunRef,
  RunState,
  RunSummary,
  TerminateOptions,
  Terminated,
} from '../compute.ts'
import { isEndState } from '../end-state.ts'
import { ComputeError } from '../errors.ts'
import { assertRunName, isRunName } from '../run-name.ts'
import { launchRun } from './launch.ts'
import { createOrphanEnder } from './orphan-processes.ts'
import { readLogSlice } from './logs.ts'
import type { LocalOptions } from './local-options.ts'
import { removeEnded } from './remove-ended.ts'
import { isAnotherRun, readRecord, readRunSnapshot, unknownUid } from './run-folder.ts'
import type { RunSnapshot } from './run-folder.ts'
import { readRunState } from './run-state.ts'
import { terminateRun } from './terminate.ts'
import { createRunWatcher } from './watch.ts'

export type LocalComputeOptions = {
  home: string
  /** An absolute path, or a name on the PATH of `env`. */
  python: string
  /** Where `anneal_runtime` is found. */
  pythonPath: string
  modelsDir: string
  /** What programs get of the machine's environment: PATH, HOME, HF_HOME, CUDA_VISIBLE_DEVICES. */
  env?: Record<string, string>
  slots?: number
  programs?: Record<RunProgram, readonly string[]>
  logLimitBytes?: number
  orphanGraceMs?: number
}

/** Runs as detached processes of this machine, each with a folder HOME/runs/<name>, found again by any later worker. */
export function createLocalCompute(options: LocalComputeOptions): Compute {
  const machine = resolveOptions(options)
  const { runsDir } = machine
  const slots = options.slots ?? Math.max(1, Math.floor(availableParallelism() / 4))
  mkdirSync(runsDir, { recursive: true, mode: 0o700 })
  const watcher = createRunWatcher(runsDir)

  return {
    launch: (spec) => checked(spec.name, () => reach(() => launchRun(machine, spec))),
    probe: (run) => checked(run.name, () => look(runsDir, run)),
    watch: (run, watchOptions) => {
      const endOrphans = createOrphanEnder(machine.orphanGraceMs)
      return checked(run.name, () => watcher.watch(run.name, () => look(runsDir, run, endOrphans), watchOptions))
    },
    readLogs: (run, range) => checked(run.name, () => reach(() => readRunLogs(runsDir, run, range))),
    terminate: (run, terminateOptions) => checked(run.name, () => reach(() => endRun(runsDir, run, terminateOptions))),
    list: (filter = {}) => reach(() => listRuns(runsDir, filter)),
    removeEndedRuns: (removeOptions) => reach(() => removeEnded(runsDir, removeOptions)),
    capacity: () => ({ slots }),
    logReadIntervalMs: 5_000,
    close: () => undefined,
  }
}

function resolveOptions(options: LocalComputeOptions): LocalOptions {
  const { python } = options
  return {
    runsDir: join(resolve(options.home), 'runs'),
    python,
    pythonPath: resolve(options.pythonPath),
    modelsDir: resolve(options.modelsDir),
    env: options.env ?? {},
    programs: options.programs ?? {
      trainer: [python, '-m', 'anneal_runtime.trainer'],
      'model-server': [python, '-m', 'anneal_runtime.server'],
    },
    logLimitBytes: options.logLimitBytes ?? 64 * 1024 * 1024,
    orphanGraceMs: options.orphanGraceMs ?? 5_000,
  }
}

async function look(runsDir: string, run: RunRef, onSnapshot?: (snapshot: RunSnapshot) => void): Promise<RunState> {
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

async function endRun(runsDir: string, run: RunRef, options: TerminateOptions): Promise<Terminated> {
  await terminateRun(runsDir, run, options)
  const snapshot = await readRunSnapshot(runsDir, run.name)
  if (!snapshot || isAnotherRun(snapshot, run)) return { end: { state: 'gone' }, logTail: null }
  const end = readRunState(snapshot)
  if (!isEndState(end)) throw new ComputeError('unavailable', `${run.name} is ${end.state} after it was ended.`)
  const { logTailBytes } = options
  const log = logTailBytes
    ? await readRunLogs(runsDir, run, { offsetBytes: -logTailBytes, limitBytes: logTailBytes })
    : null
  return { end, logTail: log?.text ?? null }
}

async function listRuns(runsDir: string, filter: RunFilter): Promise<RunSummary[]> {
  const names = (await readdir(runsDir)).filter(isRunName)
  const runs = await Promise.all(names.map((name) => summarize(runsDir, name, filter)))
  return runs.filter((run) => run !== null)
}

async function summarize(runsDir: string, name: string, { program, labels = {} }: RunFilter) {
  const state = await look(runsDir, { name })
  if (state.state === 'gone') return null
  const record = await readRecord(join(runsDir, name))
  if (program !== undefined && record?.program !== program) return null
  if (Object.entries(labels).some(([key, value]) => record?.labels[key] !== value)) return null
  const createdAt = new Date(record?.createdAt ?? 0)
  return { name, uid: record?.uid ?? unknownUid, labels: record?.labels ?? {}, createdAt, state }
}

async function checked<T>(name: string, verb: () => Promise<T>): Promise<T> {
  assertRunName(name)
  return await verb()
}

/** What the disk or the kernel refuses may be granted later. */
async function reach<T>(verb: () => Promise<T>): Promise<T> {
  try {
    return await verb()
  } catch (error) {
    const isSystemError = error instanceof Error && 'syscall' in error
    throw isSystemError ? new ComputeError('unavailable', messageOf(error), { cause: error }) : error
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
