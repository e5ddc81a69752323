// Folders that all clones of one version have alike. The first clone that made one leaves a copy in the per-user cache, and
// the next one takes it in seconds. The copies of node_modules are hard links: npm replaces files and never writes into them.
import { execFile } from 'node:child_process'
import { existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cacheDir } from '../paths.mjs'
import { cached } from './cache.mjs'
import { say } from './progress.mjs'

/** @typedef {'linked' | 'copied'} How */
const copy = (how, from, to) => promisify(execFile)('cp', [how === 'linked' ? '-al' : '-a', `${from}/.`, to])

/** @returns whether `path` is now a copy of the cache's folder */
export async function takeCopy(step, how, name, path) {
  const source = join(cacheDir, name)
  if (!existsSync(source)) return false
  const temporary = `${path}.tmp-${process.pid}`
  try {
    await copy(how, source, temporary)
    rmSync(path, { recursive: true, force: true })
    renameSync(temporary, path)
    say(step, `took ${name} from ${cacheDir}`)
    return true
  } catch {
    // Another file system, or a cp without -l.
    rmSync(temporary, { recursive: true, force: true })
    return false
  }
}

/** Where links are impossible, each clone makes its own. */
export async function leaveCopy(step, how, name, path) {
  try {
    await cached(step, name, (dir) => copy(how, path, dir))
  } catch {}
}
