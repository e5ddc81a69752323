import { readdirSync, readFileSync } from 'node:fs'

/** `started` is "<boot id> <start in clock ticks>", or empty without /proc. A pid alone is not enough, because pids are reused. */
export type ProcessIdentity = { pid: number; started: string }

type ProcessStat = { state: string; groupId: number; threadCount: number; startTicks: string }

/** Parses a /proc/<pid>/stat line. The name in it may hold spaces and parentheses, so fields count from the last one. */
export function parseStat(line: string): ProcessStat {
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
  return {
    state: fields[0] ?? '',
    groupId: Number(fields[2]),
    threadCount: Number(fields[17]),
    startTicks: fields[19] ?? '',
  }
}

/** Whether exactly this process runs. A zombie does not run. */
export function isProcessAlive(process: ProcessIdentity): boolean {
  if (!signalReaches(process.pid)) return false
  if (process.started === '') return true
  const stat = readStat(process.pid)
  return stat !== null && isStartOf(process, stat) && runs(stat)
}

/** Whether any process of the group of `leader` runs: the leader or one of its children. */
export function isGroupAlive(leader: ProcessIdentity): boolean {
  if (!signalReaches(-leader.pid)) return false
  if (leader.started === '') return true
  if (bootIdOf(leader) !== readBootId()) return false
  const stat = readStat(leader.pid)
  // A pid is not reused while its group lives. So if another process has the pid, the group is gone.
  if (stat && !isStartOf(leader, stat)) return false
  if (stat && runs(stat)) return true
  return processIds().some((pid) => {
    const member = pid === leader.pid ? null : readStat(pid)
    return member !== null && member.groupId === leader.pid && runs(member)
  })
}

/** Sends a signal to the process, or to its whole group. A process that is gone is no error. */
export function sendSignal(target: ProcessIdentity, signal: NodeJS.Signals, options: { group: boolean }): void {
  if (!(options.group ? isGroupAlive(target) : isProcessAlive(target))) return
  try {
    process.kill(options.group ? -target.pid : target.pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** A zombie main thread with others running is a living process. */
function runs(stat: ProcessStat): boolean {
  return (stat.state !== 'Z' || stat.threadCount > 1) && stat.state !== 'X'
}

function isStartOf(process: ProcessIdentity, stat: ProcessStat): boolean {
  return process.started === `${readBootId()} ${stat.startTicks}`
}

function signalReaches(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Null when there is no such process. @throws any other error of the read, because it does not prove the end of the process */
function readStat(pid: number): ProcessStat | null {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return null
    throw error
  }
}

function processIds(): number[] {
  return readdirSync('/proc').map(Number).filter(Number.isInteger)
}

function bootIdOf(process: ProcessIdentity): string {
  return process.started.split(' ')[0] ?? ''
}

let bootId: string | undefined

function readBootId(): string {
  bootId ??= readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  return bootId
}
