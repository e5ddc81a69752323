import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ComputeError } from '../errors.ts'
import { programEnvironment } from './environment.ts'
import type { Launched } from '../run.ts'
import type { LocalOptions, LocalSpec } from './local-options.ts'
import { discardClaim, prepareClaim, readRecord, readRunSnapshot, unknownUid } from './run-folder.ts'

const watcherPath = fileURLToPath(new URL('watch_run.py', import.meta.url))
const watcherStartTimeoutMs = 30_000

export async function launchRun(options: LocalOptions, spec: LocalSpec): Promise<Launched> {
  const folder = join(options.runsDir, spec.name)
  const existing = await readRunSnapshot(options.runsDir, spec.name)
  if (existing) return { uid: existing.uid, adopted: true }

  const uid = randomUUID()
  const { name, labels } = spec
  const claim = await prepareClaim(options.runsDir, {
    name,
    uid,
    program: options.program,
    labels,
    createdAt: new Date().toISOString(),
  })
  try {
    const workDir = join(folder, 'work')
    const watcherArguments = [
      claim,
      folder,
      String(options.logLimitBytes),
      String(options.orphanGraceMs),
      String((spec.resources.diskBytes ?? 0) * (spec.replicas ?? 1)),
    ]
    const outcome = await startWatcher(options, watcherArguments, programEnvironment(spec, { ...options, workDir }))
    if (outcome === 'started') return { uid, adopted: false }
    return { uid: (await readRecord(folder))?.uid ?? unknownUid, adopted: true }
  } finally {
    await discardClaim(claim)
  }
}

/** Resolves once the name is claimed: the watcher then leaves this process tree and closes its pipes. */
async function startWatcher(
  { python, module, command, prepared }: LocalOptions,
  watcherArguments: string[],
  env: Record<string, string>,
): Promise<'started' | 'taken'> {
  const fork = module === null ? null : await prepared?.start([...watcherArguments, module], env)
  const answer = fork ?? (await execWatcher(python, [...watcherArguments, ...command], env))
  if (answer === 'started' || answer === 'taken') return answer
  throw new ComputeError('unavailable', `The run could not be started with the Python at ${python}: ${answer}`)
}

/** @returns "started", "taken" or what went wrong */
function execWatcher(python: string, watcherArguments: string[], env: Record<string, string>): Promise<string> {
  const options = { env, timeout: watcherStartTimeoutMs, killSignal: 'SIGKILL' as const }
  return new Promise((resolve) => {
    execFile(python, ['-I', '-S', watcherPath, ...watcherArguments], options, (error, stdout, stderr) =>
      resolve(stdout || stderr.trim().split('\n').at(-1) || error?.message || 'no answer'),
    )
  })
}
