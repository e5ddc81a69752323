// Entries of the per-user cache: made under another name, renamed when whole, one process at a time.
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { releaseLock, takeLock } from '../pid-lock.mjs'
import { cacheDir } from '../paths.mjs'
import { say } from './progress.mjs'
import { SetupError } from './report.mjs'

const held = new Set()

/** Makes `cacheDir/name` by `make(temporaryDir)` unless it is there, and returns its path. */
export async function cached(step, name, make) {
  const path = join(cacheDir, name)
  if (existsSync(path)) return path
  return withLock(step, `${path}.lock`, async () => {
    if (existsSync(path)) return path
    // A name of our own: the tools of a killed set-up may still be writing to theirs.
    const temporary = `${path}.tmp-${process.pid}`
    for (const entry of readdirSync(cacheDir)) {
      if (entry.startsWith(`${name}.tmp-`)) rmSync(join(cacheDir, entry), { recursive: true, force: true })
    }
    mkdirSync(temporary)
    await make(temporary)
    renameSync(temporary, path)
    return path
  })
}

/** Where somebody chose a folder for our cache, the tools keep theirs in it: the home may be read-only, and links stay possible. */
export function cacheOf(variable, name) {
  return process.env.ANNEAL_CACHE_DIR ? { [variable]: join(cacheDir, name) } : {}
}

export async function withLock(step, path, work) {
  makeDir(dirname(path))
  for (let waited = 0; ; waited++) {
    const owner = takeLock(path)
    if (!owner) break
    if (waited % 60 === 0) say(step, `another set-up is at this (pid ${owner.pid}); waiting for it`)
    await sleep(500)
  }
  held.add(path)
  try {
    return await work()
  } finally {
    releaseLock(path)
    held.delete(path)
  }
}

export function releaseLocks() {
  for (const path of held) releaseLock(path)
}

export function writeAtomically(path, text) {
  makeDir(dirname(path))
  const temporary = `${path}.${process.pid}.tmp`
  writeFileSync(temporary, text)
  renameSync(temporary, path)
}

function makeDir(dir) {
  try {
    mkdirSync(dir, { recursive: true })
  } catch (error) {
    throw new SetupError(`${dir} cannot be written (${error.code}). Set ANNEAL_CACHE_DIR to a folder that can.`)
  }
}
