// HOME/runs/<name>/ holds run.json (the spec without secrets), pid and watcher (each with .started beside it), log and
// work/; later exit (with signal, if one ended the program, and disk, if the run wrote too much) and terminated (the time of
// the first terminate). A folder is made beside its place and renamed into it, so a name is claimed once and readers see
// complete folders only.

import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isUuid } from '../../domain/identifiers.ts'
import type { RunProgram, RunRef } from '../run.ts'
import { isGroupAlive, isProcessAlive } from './processes.ts'
import type { ProcessIdentity } from './processes.ts'

type RunRecord = {
  name: string
  uid: string
  program: RunProgram
  labels: Record<string, string>
  createdAt: string
}

export type RunSnapshot = {
  uid: string
  leader: ProcessIdentity | null
  watcher: ProcessIdentity | null
  leaderAlive: boolean
  groupAlive: boolean
  watcherAlive: boolean
  exit: { code: number; signal: string | null } | null
  /** The limit because of which the watcher ended the run; null if it did not. */
  diskLimitBytes: number | null
  terminated: boolean
}

/** The uid of a run whose run.json cannot be read after a crash of the machine. Such a run is over. */
export const unknownUid = 'unknown'

export const claimPrefix = '.new-'
export const removedPrefix = '.removed-'

/** Null when there is no such folder; throws when that cannot be known. */
export async function readRunSnapshot(runsDir: string, name: string): Promise<RunSnapshot | null> {
  const folder = join(runsDir, name)
  if (!(await isRunFolder(runsDir, folder))) return null
  const record = await readRecord(folder)
  const [leader, watcher] = await Promise.all([readProcess(folder, 'pid'), readProcess(folder, 'watcher')])
  // The watcher is checked before the exit file is read: a dead watcher writes nothing more.
  const watcherAlive = watcher !== null && isProcessAlive(watcher)
  const leaderAlive = leader !== null && isProcessAlive(leader)
  const groupAlive = leader !== null && isGroupAlive(leader)
  const [code, signal, disk, terminated] = await Promise.all(
    ['exit', 'signal', 'disk', 'terminated'].map((file) => readText(join(folder, file))),
  )
  const exit = code && /^\d+$/.test(code) ? { code: Number(code), signal: signal ?? null } : null
  return {
    uid: record?.uid ?? unknownUid,
    leader,
    watcher,
    leaderAlive,
    groupAlive,
    watcherAlive,
    exit,
    diskLimitBytes: disk ? Number(disk) : null,
    terminated: terminated !== null,
  }
}

export function isAnotherRun(snapshot: RunSnapshot, run: RunRef): boolean {
  return run.uid !== undefined && snapshot.uid !== unknownUid && snapshot.uid !== run.uid
}

/** Prepares the folder. Move it with claimName, or let a watcher do so, then call discardClaim. */
export async function prepareClaim(runsDir: string, record: RunRecord): Promise<string> {
  const claim = join(runsDir, `${claimPrefix}${record.name}-${randomUUID()}`)
  try {
    await mkdir(join(claim, 'work'), { recursive: true, mode: 0o700 })
    await writeFile(join(claim, 'run.json'), JSON.stringify(record, null, 2))
    return claim
  } catch (error) {
    await discardClaim(claim)
    throw error
  }
}

/** False when the name is taken. */
export async function claimName(claim: string, folder: string): Promise<boolean> {
  try {
    await rename(claim, folder)
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOTEMPTY' || code === 'EEXIST') return false
    throw error
  }
}

export async function discardClaim(claim: string): Promise<void> {
  await removeFolder(claim)
}

/** Cancels launches under way: a watcher without its claim starts no program. */
export async function withdrawClaims(runsDir: string, name: string): Promise<void> {
  const prefix = `${claimPrefix}${name}-`
  const claims = (await readdir(runsDir)).filter(
    (entry) => entry.startsWith(prefix) && isUuid(entry.slice(prefix.length)),
  )
  for (const claim of claims) await discardClaim(join(runsDir, claim))
}

/** Renames the folder away in one step, then deletes it. False when it did not exist. */
export async function removeFolder(folder: string): Promise<boolean> {
  const trash = join(dirname(folder), `${removedPrefix}${randomUUID()}`)
  try {
    await rename(folder, trash)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
  await rm(trash, { recursive: true, force: true })
  return true
}

/** Null when the record is missing or torn. */
export async function readRecord(folder: string): Promise<RunRecord | null> {
  const text = await readText(join(folder, 'run.json'))
  try {
    return text ? (JSON.parse(text) as RunRecord) : null
  } catch {
    return null
  }
}

/** Null when the file does not exist. @throws every other error */
export async function readText(path: string): Promise<string | null> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

async function isRunFolder(runsDir: string, folder: string): Promise<boolean> {
  try {
    return (await stat(folder)).isDirectory()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    // If the parent is missing too (a disk is not mounted), the state of the run is not known, so this throws.
    await stat(runsDir)
    return false
  }
}

async function readProcess(folder: string, file: 'pid' | 'watcher'): Promise<ProcessIdentity | null> {
  const pid = Number(await readText(join(folder, file)))
  if (!Number.isInteger(pid) || pid <= 1) return null
  return { pid, started: (await readText(join(folder, `${file}.started`))) ?? '' }
}
