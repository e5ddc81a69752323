// Training runs and model servers outlive the worker that started them, but not a stop of the whole stack.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isAlive, startTimeOf, type ProcessIdentity } from '../../tools/pid-lock.mjs'
import { sendSignal } from './end-process.ts'
import type { Home } from './data-directory.ts'

/** For the emergency checkpoint, which needs the api, the object store and the database. */
const checkpointTimeoutMs = 20_000
const watcherTimeoutMs = 5_000
const pollMs = 50

/** Sends each run SIGTERM, waits for its checkpoint, then sends SIGKILL to its group. Call this once the worker is gone. */
export async function endRuns(home: Home, say: (text: string) => void): Promise<void> {
  const names = existsSync(home.runs) ? readdirSync(home.runs).filter((name) => !name.startsWith('.')) : []
  const running = names.filter((name) => processesOf(home, name).some(isPresent))
  if (running.length === 0) return
  say(`stopping ${running.join(', ')} (up to ${checkpointTimeoutMs / 1000} s for a checkpoint)`)
  await Promise.all(running.map((name) => endRun(home, name)))
}

async function endRun(home: Home, name: string) {
  const [program, watcher] = processesOf(home, name)
  // Signal only the program: it may need its own children to save a checkpoint.
  if (program && isAlive(program)) sendSignal(program, 'SIGTERM')
  if (program) await waitOrKill(program, checkpointTimeoutMs)
  if (watcher) await waitOrKill(watcher, watcherTimeoutMs)
}

async function waitOrKill(leader: ProcessIdentity, timeoutMs: number) {
  const deadline = performance.now() + timeoutMs
  while (isPresent(leader)) {
    if (performance.now() > deadline || !isAlive(leader)) sendSignal(leader, 'SIGKILL', true)
    await sleep(pollMs)
  }
}

/** The program, and the watcher that records its end. Each leads a process group of its own. */
function processesOf(home: Home, name: string): (ProcessIdentity | null)[] {
  return ['pid', 'watcher'].map((file) => {
    const path = join(home.runs, name, file)
    const pid = Number(readText(path))
    const startTime = readText(`${path}.started`)
    return Number.isInteger(pid) && pid > 1 && startTime ? { pid, startTime } : null
  })
}

/** True while the leader or another process of its group lives. */
function isPresent(leader: ProcessIdentity | null): boolean {
  if (leader === null) return false
  const startTime = startTimeOf(leader.pid)
  // The kernel does not reuse a pid while its group lives: another process under this pid means that the group is gone.
  return startTime === null ? groupMembers(leader).length > 0 : startTime === leader.startTime
}

function groupMembers(leader: ProcessIdentity): number[] {
  if (!existsSync('/proc/self/stat')) return []
  const bootId = leader.startTime.split(' ')[0]
  if (bootId !== readText('/proc/sys/kernel/random/boot_id')) return []
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((pid) => {
      const stat = readText(`/proc/${pid}/stat`)
      const [state, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      return Number(group) === leader.pid && state !== 'Z' && state !== 'X'
    })
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return ''
  }
}
