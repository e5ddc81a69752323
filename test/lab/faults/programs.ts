// Trainers and model servers of one data directory, as /proc shows them.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { uptime } from 'node:os'

export type Program = {
  pid: number
  /** `ft-<job>-a<attempt>` or `model-server-<base>-g<generation>`. */
  run: string
  kind: 'trainer' | 'server'
  /** The processes of one run share one; its leader is the program itself. */
  group: number
  /** In ticks since the machine's start; with the pid, no other process has it. */
  startedTicks: number
  ignoresSigterm: boolean
}

const sigtermBit = 1n << 14n

/** Lists running programs, without zombies. */
export function livingPrograms(homeDir: string): Program[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .flatMap((entry) => describe(Number(entry), homeDir) ?? [])
}

export const trainersOf = (programs: readonly Program[], jobId: number) =>
  programs.filter(({ kind, run }) => kind === 'trainer' && run.startsWith(`ft-${jobId}-a`))

const ticksPerSecond = 100

/** By the clock of the wall. */
export const startedMs = ({ startedTicks }: Program) => Date.now() - (uptime() - startedTicks / ticksPerSecond) * 1000

export function isAlive({ pid, startedTicks }: Program): boolean {
  const stat = readStat(pid)
  return stat?.startedTicks === startedTicks && stat.state !== 'Z'
}

function describe(pid: number, homeDir: string): Program | null {
  // A program works in its run's folder; the watcher of a run does not.
  const [prefix, folder] = [`${homeDir}/runs/`, workingFolder(pid)]
  const stat = folder.startsWith(prefix) ? readStat(pid) : null
  if (!stat || stat.state === 'Z') return null
  const run = folder.slice(prefix.length).split('/')[0] ?? ''
  const ignored = BigInt(`0x${/^SigIgn:\s*(\w+)/m.exec(read(pid, 'status'))?.[1] ?? '0'}`)
  const kind = run.startsWith('ft-') ? 'trainer' : 'server'
  return { pid, run, kind, ...stat, ignoresSigterm: (ignored & sigtermBit) !== 0n }
}

function workingFolder(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    return ''
  }
}

function readStat(pid: number) {
  const stat = read(pid, 'stat')
  if (stat === '') return null
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return { state: fields[0] ?? '', group: Number(fields[2]), startedTicks: Number(fields[19]) }
}

function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}
