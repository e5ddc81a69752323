// A lock file that names its owner by pid and start time, so that a lock left by a killed process is seen as such
// even when its pid has been given to another process. Used by set-up and by the embedded stack.
import { execFileSync } from 'node:child_process'
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'

/** When a process started, as text that no other process with this pid shares; null when it is gone (or a zombie). */
export function startTimeOf(pid) {
  if (process.platform !== 'linux') return startTimeByPs(pid)
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The command's name, in brackets, may hold spaces: fields are counted after it. 0 is the state, 19 the start.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (fields[0] === 'Z' || fields[0] === 'X') return null
    return `${bootId()} ${fields[19]}`
  } catch {
    return null
  }
}

export function identify(pid) {
  return { pid, startTime: startTimeOf(pid) ?? '' }
}

export function isAlive(identity) {
  return startTimeOf(identity.pid) === identity.startTime
}

/** The live owner of a lock file, or null. */
export function lockOwner(path) {
  const owner = parseOwner(readOrNull(path))
  return owner && isAlive(owner) ? owner : null
}

/** Takes the lock: null when it is now ours, else its live owner. */
export function takeLock(path) {
  const own = `${path}.${process.pid}`
  writeFileSync(own, JSON.stringify(identify(process.pid)), { mode: 0o600 })
  try {
    for (;;) {
      // A link appears with its content, so nobody ever reads a lock that does not name its owner yet.
      if (tryLink(own, path)) return null
      const text = readOrNull(path)
      if (text === null) continue
      const owner = parseOwner(text)
      if (owner && isAlive(owner)) return owner
      removeStale(path, text)
    }
  } finally {
    rmSync(own, { force: true })
  }
}

export function releaseLock(path) {
  if (parseOwner(readOrNull(path))?.pid === process.pid) rmSync(path, { force: true })
}

/** Two processes may find the same stale lock: the slower one must not remove the lock that the faster one took since. */
function removeStale(path, text) {
  const aside = `${path}.stale.${process.pid}`
  try {
    renameSync(path, aside)
  } catch {
    return
  }
  if (readOrNull(aside) !== text) tryLink(aside, path)
  rmSync(aside, { force: true })
}

function tryLink(from, to) {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}

function parseOwner(text) {
  try {
    const { pid, startTime } = JSON.parse(text)
    return Number.isInteger(pid) && startTime ? { pid, startTime } : null
  } catch {
    return null
  }
}

function readOrNull(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}

let cachedBootId
function bootId() {
  return (cachedBootId ??= readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim())
}

function startTimeByPs(pid) {
  try {
    const [state, ...started] = execFileSync('ps', ['-o', 'state=,lstart=', '-p', String(pid)], { encoding: 'utf8' })
      .trim()
      .split(/\s+/)
    return !state || state.startsWith('Z') ? null : started.join(' ')
  } catch {
    return null
  }
}
