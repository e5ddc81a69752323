import { join, resolve } from 'node:path'
import type { RunProgram, RunSpec } from '../run.ts'
import type { Prepared } from './prepared.ts'

export type LocalSpec = RunSpec & { replicas?: number }

export type LocalComputeOptions = {
  home: string
  /** An absolute path, or a name on the PATH of `env`. */
  python: string
  /** The folder that holds the Python package `anneal_runtime`. */
  pythonPath: string
  modelsDir: string
  /** Variables of this machine that programs inherit: PATH, HOME, HF_HOME, CUDA_VISIBLE_DEVICES. */
  env?: Record<string, string>
  programs?: Record<RunProgram, readonly string[]>
  /** Starts the programs faster, except those of `programs`. */
  prepared?: Prepared | null
  logLimitBytes?: number
  /** A program's children may outlive it by this time. Then they get SIGKILL. */
  orphanGraceMs?: number
}

export function withDefaults(options: LocalComputeOptions, program: RunProgram) {
  const module = { trainer: 'anneal_runtime.trainer', 'model-server': 'anneal_runtime.server' }[program]
  const given = options.programs?.[program]
  return {
    program,
    command: given ?? [options.python, '-m', module],
    module: given === undefined ? module : null,
    prepared: options.prepared ?? null,
    runsDir: join(resolve(options.home), 'runs'),
    python: options.python,
    pythonPath: resolve(options.pythonPath),
    modelsDir: resolve(options.modelsDir),
    env: options.env ?? {},
    logLimitBytes: options.logLimitBytes ?? 64 * 1024 * 1024,
    orphanGraceMs: options.orphanGraceMs ?? 5_000,
  }
}

export type LocalOptions = ReturnType<typeof withDefaults>
