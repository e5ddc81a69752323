// Copies of what one server keeps, each as of one instant: what a snapshot of its disk would have.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { signalProcess } from '../../support/signal-process.ts'

const stores = ['postgres', 'temporal', 's3'] as const
export type Store = (typeof stores)[number]

/** While none of its processes runs. */
export function takeSnapshot(home: string, store: Store, pid: number) {
  // The parent first: it starts no more of them then.
  send('SIGSTOP', [pid])
  const stopped = withDescendants(pid)
  send('SIGSTOP', stopped)
  try {
    execFileSync('cp', ['-a', join(home, store), snapshotOf(home, store)])
  } finally {
    send('SIGCONT', stopped)
  }
}

/** The stack must be stopped. Runs that were active at the snapshot are forgotten, as is everything after it. */
export function putSnapshotsBack(home: string) {
  for (const store of stores) {
    rmSync(join(home, store), { recursive: true })
    execFileSync('mv', [snapshotOf(home, store), join(home, store)])
  }
  rmSync(join(home, 'postgres/postmaster.pid'), { force: true })
  rmSync(join(home, 'runs'), { recursive: true })
}

const snapshotOf = (home: string, store: Store) => join(home, `${store}-then`)

function send(signal: NodeJS.Signals, pids: readonly number[]) {
  for (const pid of pids) signalProcess(pid, signal)
}

function withDescendants(pid: number): number[] {
  const children = readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((each) => parentOf(each) === pid)
  return [pid, ...children.flatMap(withDescendants)]
}

function parentOf(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return null
  }
}
