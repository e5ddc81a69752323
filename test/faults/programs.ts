// Trainers and model servers of one data directory, as /proc shows them.
import { readdirSync, readFileSync } from 'node:fs'
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
  const command = read(pid, 'cmdline')
  const program = /anneal_runtime\.(trainer|server)/.exec(command)?.[1]
  // The watcher of a run also names the run's program.
  const stat = program === undefined || command.includes('watch_run.py') ? null : readStat(pid)
  if (!stat || stat.state === 'Z') return null
  const environment = read(pid, 'environ')
  const prefix = `ANNEAL_WORK_DIR=${homeDir}/runs/`
  const workDir = environment.split('\0').find((variable) => variable.startsWith(prefix))
  // Between fork and exec, or of another stack.
  if (workDir === undefined) return null
  const run = workDir.slice(prefix.length).split('/')[0] ?? ''
  const ignored = BigInt(`0x${/^SigIgn:\s*(\w+)/m.exec(read(pid, 'status'))?.[1] ?? '0'}`)
  const kind = program === 'trainer' ? 'trainer' : 'server'
  return { pid, run, kind, ...stat, ignoresSigterm: (ignored & sigtermBit) !== 0n }
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
