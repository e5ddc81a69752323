import { readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { RunProgram } from '../run.ts'
import { claimPrefix, readRecord, readRunSnapshot, removedPrefix, removeFolder } from './run-folder.ts'

export async function removeEnded(runsDir: string, program: RunProgram, endedForMs: number): Promise<string[]> {
  const endedBeforeMs = Date.now() - endedForMs
  const removed: string[] = []
  for (const entry of await readdir(runsDir)) {
    const folder = join(runsDir, entry)
    // A process that died in the middle leaves these two kinds of folders.
    if (entry.startsWith(removedPrefix)) await rm(folder, { recursive: true, force: true })
    else if (entry.startsWith(claimPrefix)) {
      if ((await touchedAtMs(folder)) < endedBeforeMs) await removeFolder(folder)
    } else if (await endedBefore(runsDir, entry, program, endedBeforeMs)) {
      if (await removeFolder(folder)) removed.push(entry)
    }
  }
  return removed
}

async function endedBefore(runsDir: string, name: string, program: RunProgram, beforeMs: number): Promise<boolean> {
  const record = await readRecord(join(runsDir, name))
  if (record && record.program !== program) return false
  const snapshot = await readRunSnapshot(runsDir, name)
  if (!snapshot || snapshot.groupAlive || snapshot.watcherAlive) return false
  // A lost run has no recorded end, so its retention starts now.
  if (!snapshot.exit && !snapshot.terminated) await writeFile(join(runsDir, name, 'lost'), '', { flag: 'a' })
  return (await touchedAtMs(join(runsDir, name))) < beforeMs
}

/** A folder was last changed when its end was recorded and its work/ removed. 0 when the folder is gone. */
async function touchedAtMs(folder: string): Promise<number> {
  try {
    return (await stat(folder)).mtimeMs
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0
    throw error
  }
}
