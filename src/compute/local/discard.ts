import { randomUUID } from 'node:crypto'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { readRecord, readRunFacts, removedPrefix, unknownUid } from './run-folder.ts'

export async function discardRun(runsDir: string, run: { name: string; uid: string }): Promise<void> {
  const facts = await readRunFacts(runsDir, run.name)
  if (!facts || facts.uid !== run.uid || facts.groupAlive || facts.watcherAlive) return
  const folder = join(runsDir, run.name)
  const trash = join(runsDir, `${removedPrefix}${randomUUID()}`)
  try {
    await rename(folder, trash)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  // Somebody else discarded and launched since we looked: that run's folder goes back.
  const moved = (await readRecord(trash))?.uid ?? unknownUid
  if (moved === run.uid) await rm(trash, { recursive: true, force: true })
  else await rename(trash, folder)
}
