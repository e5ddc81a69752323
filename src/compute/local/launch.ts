import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { RunSpec } from '../compute.ts'
import { ComputeError } from '../errors.ts'
import { programEnvironment } from './environment.ts'
import type { LocalOptions } from './local-options.ts'
import { discardClaim, prepareClaim, readRecord, readRunSnapshot, unknownUid } from './run-folder.ts'

const watcherPath = fileURLToPath(new URL('watch_run.py', import.meta.url))
const watcherStartTimeoutMs = 30_000

export async function launchRun(machine: LocalOptions, spec: RunSpec): Promise<{ uid: string; adopted: boolean }> {
  const folder = join(machine.runsDir, spec.name)
  const existing = await readRunSnapshot(machine.runsDir, spec.name)
  if (existing) return { uid: existing.uid, adopted: true }

  const uid = randomUUID()
  const { name, program, labels } = spec
  const claim = await prepareClaim(machine.runsDir, { name, uid, program, labels, createdAt: new Date().toISOString() })
  try {
    const workDir = join(folder, 'work')
    const command = [
      watcherPath,
      claim,
      folder,
      String(machine.logLimitBytes),
      String(machine.orphanGraceMs),
      ...machine.programs[program],
    ]
    const outcome = await startWatcher(machine.python, command, programEnvironment(spec, { ...machine, workDir }))
    if (outcome === 'started') return { uid, adopted: false }
    return { uid: (await readRecord(folder))?.uid ?? unknownUid, adopted: true }
  } finally {
    await discardClaim(claim)
  }
}

/** Resolves once the name is claimed: the watcher then leaves our process tree and closes its pipes to us. */
function startWatcher(python: string, command: string[], env: Record<string, string>): Promise<'started' | 'taken'> {
  const { promise, resolve, reject } = Promise.withResolvers<'started' | 'taken'>()
  const options = { env, timeout: watcherStartTimeoutMs, killSignal: 'SIGKILL' as const }
  execFile(python, ['-I', '-S', ...command], options, (error, stdout, stderr) => {
    if (stdout === 'started' || stdout === 'taken') return resolve(stdout)
    const detail = stderr.trim().split('\n').at(-1) || error?.message || 'no answer'
    reject(new ComputeError('unavailable', `The run could not be started with ${python}: ${detail}`))
  })
  return promise
}
