import { randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { sinceBootMs } from '../../monotonic-clock.ts'
import type { RunRef } from '../run.ts'
import type { TerminateOptions } from '../trainers.ts'
import type { LocalOptions } from './local-options.ts'
import { isGroupAlive, isProcessAlive, sendSignal } from './processes.ts'
import type { ProcessIdentity } from './processes.ts'
import {
  claimName,
  discardClaim,
  isAnotherRun,
  prepareClaim,
  readRunSnapshot,
  readText,
  withdrawClaims,
} from './run-folder.ts'
import type { RunSnapshot } from './run-folder.ts'

const firstCheckMs = 20
const maxCheckMs = 200
/** A watcher that has not recorded the end by then is stuck and is killed, too. */
const watcherGraceMs = 5_000

type Place = Pick<LocalOptions, 'runsDir' | 'program'>

export async function terminateRun(place: Place, run: RunRef, options: TerminateOptions): Promise<void> {
  const { runsDir } = place
  const snapshot = (await readRunSnapshot(runsDir, run.name)) ?? (run.uid ? null : await forbidLaunch(place, run.name))
  if (!snapshot || isAnotherRun(snapshot, run)) return
  const folder = join(runsDir, run.name)
  if (isOver(snapshot)) return removeWorkDir(folder)

  // A run that has ended by itself keeps its end. Only its watcher may still be removing files.
  if (!snapshot.exit || snapshot.groupAlive) await endProgram(folder, snapshot, options)
  if (snapshot.watcher) await endWatcher(snapshot.watcher, options.signal)
  await removeWorkDir(folder)
}

async function endProgram(folder: string, snapshot: RunSnapshot, { graceMs, signal }: TerminateOptions): Promise<void> {
  const askedAtMs = await markTerminated(folder, snapshot)
  if (!snapshot.leader) return
  // Only the program gets SIGTERM: it may need its own children to save a checkpoint.
  sendSignal(snapshot.leader, 'SIGTERM', { group: !snapshot.leaderAlive })
  await endGroup(snapshot.leader, askedAtMs + graceMs, signal)
}

/** After this, a launch under way starts no program. Null when there is no run to end. */
async function forbidLaunch(place: Place, name: string): Promise<RunSnapshot | null> {
  const { runsDir } = place
  try {
    if (await takeName(place, name)) return null
  } catch (error) {
    throwUnlessFull(error as NodeJS.ErrnoException)
    await withdrawClaims(runsDir, name)
  }
  return readRunSnapshot(runsDir, name)
}

/** Makes any later launch find a run that has already ended. False when the name is taken. */
async function takeName({ runsDir, program }: Place, name: string): Promise<boolean> {
  const createdAt = new Date().toISOString()
  const claim = await prepareClaim(runsDir, { name, uid: randomUUID(), program, labels: {}, createdAt })
  try {
    await writeFile(join(claim, 'terminated'), String(sinceBootMs()))
    return await claimName(claim, join(runsDir, name))
  } finally {
    await discardClaim(claim)
  }
}

/** Returns when any process first asked the run to end: a repeat must not prolong the grace. */
async function markTerminated(folder: string, snapshot: RunSnapshot): Promise<number> {
  const path = join(folder, 'terminated')
  const now = sinceBootMs()
  const before = snapshot.terminated ? Number(await readText(path)) : 0
  if (before > 0 && before <= now) return before
  await writeFile(path, String(now)).catch(throwUnlessFull)
  return now
}

/** A run can be ended on a disk that it has filled. On such a disk each repeat starts the grace period again. */
function throwUnlessFull(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOSPC' && error.code !== 'EDQUOT') throw error
}

async function endGroup(leader: ProcessIdentity, deadlineMs: number, signal?: AbortSignal): Promise<void> {
  for (let waitMs = firstCheckMs; isGroupAlive(leader); waitMs = Math.min(waitMs * 1.5, maxCheckMs)) {
    if (sinceBootMs() >= deadlineMs) sendSignal(leader, 'SIGKILL', { group: true })
    await delay(waitMs, undefined, { ...(signal && { signal }) })
  }
}

async function endWatcher(watcher: ProcessIdentity, signal?: AbortSignal): Promise<void> {
  const deadlineMs = sinceBootMs() + watcherGraceMs
  while (isProcessAlive(watcher)) {
    if (sinceBootMs() >= deadlineMs) sendSignal(watcher, 'SIGKILL', { group: false })
    await delay(firstCheckMs, undefined, { ...(signal && { signal }) })
  }
}

function isOver(snapshot: RunSnapshot): boolean {
  return !snapshot.groupAlive && !snapshot.watcherAlive
}

/** Removes the work folder in place of a watcher that was killed. */
async function removeWorkDir(folder: string): Promise<void> {
  await rm(join(folder, 'work'), { recursive: true, force: true })
}
