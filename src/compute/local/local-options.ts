import type { RunProgram } from '../compute.ts'

/** What every verb of the local compute needs to know. */
export type LocalOptions = {
  runsDir: string
  python: string
  pythonPath: string
  modelsDir: string
  env: Record<string, string>
  programs: Record<RunProgram, readonly string[]>
  logLimitBytes: number
  /** What a program leaves running after its own end gets this long to leave before SIGKILL. */
  orphanGraceMs: number
}
