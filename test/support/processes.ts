import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { modelServerName } from '../../src/domain/identifiers.ts'
import { runFolder } from './stack.ts'

/** The pid of a run's program, or null before it has started. */
export function pidOf(runName: string): number | null {
  const path = join(runFolder(runName), 'pid')
  return existsSync(path) ? Number(readFileSync(path, 'utf8')) : null
}

/** Processes of this group that still live; zombies do not. */
export function livingInGroup(group: number): number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((pid) => {
      const stat = readStat(pid)
      return stat !== null && stat.group === group && stat.state !== 'Z'
    })
}

/** Trainers that live, of any job: `ft-<job>-a<attempt>` by their run folders. */
export const livingTrainers = (jobId: number) => livingPrograms(`ft-${jobId}-a`)

/** Model servers that live: `model-server-<base>-g<generation>`. */
export const livingServers = (baseModel: string) => livingPrograms(`${modelServerName(baseModel)}-g`)

function livingPrograms(prefix: string): number[] {
  return readdirSync(runFolder('.'))
    .filter((name) => name.startsWith(prefix))
    .flatMap((name) => pidOf(name) ?? [])
    .filter((pid) => livingInGroup(pid).length > 0)
}

/** By SIGSTOP, until SIGCONT. */
export const isStopped = (pid: number): boolean => readStat(pid)?.state === 'T'

function readStat(pid: number): { state: string; group: number } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [state = '', , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return { state, group: Number(group) }
  } catch {
    return null
  }
}
