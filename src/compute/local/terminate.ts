import { randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { sinceBootMs } from '../../monotonic-clock.ts'
import type { RunRef, TerminateOptions } from '../compute.ts'
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
/** A watcher that has not recorded the end by then is stuck and goes too. */
const watcherGraceMs = 5_000

export async function terminateRun(runsDir: string, run: RunRef, options: TerminateOptions): Promise<void> {
  const snapshot =
    (await readRunSnapshot(runsDir, run.name)) ?? (run.uid ? null : await forbidLaunch(runsDir, run.name))
  if (!snapshot || isAnotherRun(snapshot, run)) return
  const folder = join(runsDir, run.name)
  if (isOver(snapshot)) return removeWorkDir(folder)

  const askedAtMs = await markTerminated(folder, snapshot)
  // Only the program is asked: it may need its own children to save a checkpoint.
  if (snapshot.leader) sendSignal(snapshot.leader, 'SIGTERM', { group: !snapshot.leaderAlive })
  if (snapshot.leader) await endGroup(snapshot.leader, askedAtMs + options.graceMs, options.signal)
  if (snapshot.watcher) await endWatcher(snapshot.watcher, options.signal)
  await removeWorkDir(folder)
}

/** A launch that is still under way starts nothing any more. Null when there is no run to end. */
async function forbidLaunch(runsDir: string, name: string): Promise<RunSnapshot | null> {
  try {
    if (await takeName(runsDir, name)) return null
  } catch (error) {
    throwUnlessFull(error as NodeJS.ErrnoException)
    await withdrawClaims(runsDir, name)
  }
  return readRunSnapshot(runsDir, name)
}

/** So that any launch finds a run that has already ended. False when the name is taken. */
async function takeName(runsDir: string, name: string): Promise<boolean> {
  const createdAt = new Date().toISOString()
  const claim = await prepareClaim(runsDir, { name, uid: randomUUID(), program: null, labels: {}, createdAt })
  try {
    await writeFile(join(claim, 'terminated'), String(sinceBootMs()))
    return await claimName(claim, join(runsDir, name))
  } finally {
    await discardClaim(claim)
  }
}

/** When the run was first asked to end, by whichever call and process: a repeat must not prolong the grace. */
async function markTerminated(folder: string, snapshot: RunSnapshot): Promise<number> {
  const path = join(folder, 'terminated')
  const now = sinceBootMs()
  const before = snapshot.terminated ? Number(await readText(path)) : 0
  if (before > 0 && before <= now) return before
  await writeFile(path, String(now)).catch(throwUnlessFull)
  return now
}

/** What the run itself wrote may fill the disk: its end needs no room. A repeat then counts the grace anew. */
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

/** The watcher's work, done for one that died before. */
async function removeWorkDir(folder: string): Promise<void> {
  await rm(join(folder, 'work'), { recursive: true, force: true })
}
