// Watches the stack's processes from outside, through /proc: resident memory before and at its peak, restarts, and what each
// takes of the processors.
import { readdirSync, readFileSync } from 'node:fs'
import { readConnection } from '../../../src/embedded/connection.ts'
import { describeHome } from '../../../src/embedded/data-directory.ts'

export type ProcessReport = { name: string; beforeMb: number; peakMb: number }
/** Maps the name of a process to its share of one processor. */
export type ProcessorShares = Record<string, number>

/** The kernel counts a process's time in hundredths of a second. */
const ticksPerSecond = 100

const sampleMs = 500

/** @param homeDir data directory of the embedded stack */
export function watchProcesses(homeDir: string) {
  const first = sample(homeDir)
  const peaks = new Map(first.memoryMb)
  const mains = new Map(first.mains)
  const restarts: string[] = []
  const timer = setInterval(look, sampleMs).unref()

  function look() {
    const now = sample(homeDir)
    for (const [name, megabytes] of now.memoryMb) peaks.set(name, Math.max(peaks.get(name) ?? 0, megabytes))
    for (const [name, pids] of now.mains) {
      const known = mains.get(name)
      // A process that is being restarted has no pid: the next sample shows another one.
      if (known !== undefined && pids !== known) restarts.push(name)
      mains.set(name, pids)
    }
  }

  return {
    /** @returns what tells the shares since this call */
    measureShares(): () => ProcessorShares {
      const startedAt = performance.now()
      const before = sample(homeDir).ticks
      return () => {
        const seconds = (performance.now() - startedAt) / 1000
        const shares = [...sample(homeDir).ticks].map(
          ([name, ticks]) => [name, (ticks - (before.get(name) ?? 0)) / ticksPerSecond / seconds] as const,
        )
        return Object.fromEntries(shares)
      }
    },

    /** @returns what was seen since the start */
    end(): { memory: ProcessReport[]; restarts: string[] } {
      look()
      clearInterval(timer)
      const memory = [...peaks].map(([name, peakMb]) => ({ name, beforeMb: first.memoryMb.get(name) ?? 0, peakMb }))
      return { memory, restarts }
    },
  }
}

/** `mains`: the processes whose end is a restart. Those of Postgres that serve one connection come and go. */
type Sample = { memoryMb: Map<string, number>; mains: Map<string, string>; ticks: Map<string, number> }

function sample(homeDir: string): Sample {
  const home = describeHome(homeDir)
  const children = childrenByParent()
  const memoryMb = new Map<string, number>()
  const mains = new Map<string, string>()
  const ticks = new Map<string, number>()
  for (const [name, pid] of Object.entries(readConnection(home)?.processes ?? {})) {
    const tree = treeOf(pid, children)
    memoryMb.set(name, sumMb(tree))
    mains.set(name, String(pid))
    ticks.set(name, sumTicks(tree))
  }
  for (const run of readdirSync(home.runs).filter((name) => name.startsWith('model-server-'))) {
    const pid = Number(readText(`${home.runs}/${run}/pid`))
    const tree = pid > 0 ? treeOf(pid, children).filter((each) => memoryOf(each).anonymousKb > 0) : []
    if (tree.length === 0) continue
    // The replicas are children of the run's program.
    const name = run.replace(/-g\d+$/, '')
    memoryMb.set(name, sumMb(tree))
    ticks.set(name, sumTicks(tree))
    mains.set(name, [pid, ...(children.get(pid) ?? [])].join(' '))
  }
  return { memoryMb, mains, ticks }
}

function treeOf(pid: number, children: Map<number, number[]>): number[] {
  return [pid, ...(children.get(pid) ?? []).flatMap((child) => treeOf(child, children))]
}

function childrenByParent(): Map<number, number[]> {
  const children = new Map<number, number[]>()
  for (const entry of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const parent = Number(statOf(Number(entry))[1])
    children.set(parent, [...(children.get(parent) ?? []), Number(entry)])
  }
  return children
}

/** The fields from the third on. */
function statOf(pid: number): string[] {
  const stat = readText(`/proc/${pid}/stat`)
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** Adds up the time of the processes and of their children that have ended. */
function sumTicks(pids: number[]): number {
  const ticks = pids.flatMap((pid) => statOf(pid).slice(11, 15).map(Number))
  return ticks.reduce((sum, each) => sum + each, 0)
}

/** Memory that several processes share (the buffers of Postgres) counts once among them. */
function sumMb(pids: number[]): number {
  const all = pids.map(memoryOf)
  const ownKb = all.reduce((sum, { anonymousKb }) => sum + anonymousKb, 0)
  return Math.round((ownKb + Math.max(0, ...all.map(({ sharedKb }) => sharedKb))) / 1024)
}

/**
 * The counters that the kernel keeps anyway. `smaps_rollup` would be exact, but a read of it walks all pages of the process:
 * for a whole stack that takes 100 ms and more, in which no probe goes on.
 */
function memoryOf(pid: number) {
  const status = readText(`/proc/${pid}/status`)
  const kb = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0)
  return { anonymousKb: kb('RssAnon'), sharedKb: kb('RssShmem') }
}

/** Empty when the process has ended meanwhile. */
function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
