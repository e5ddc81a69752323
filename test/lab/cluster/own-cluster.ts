// The cluster that this clone started: commands and suites go on to use it.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from '../../../tools/paths.mjs'
import { isAlive, type ProcessIdentity } from '../../../tools/pid-lock.mjs'
import { clusterOf, type Cluster } from './settings.ts'

export type Started = { cluster: Cluster; bin: string; supervisor: ProcessIdentity }

const recordPath = join(root, '.cache/cluster.json')

export function record({ cluster: { number }, bin, supervisor }: Started) {
  mkdirSync(dirname(recordPath), { recursive: true })
  writeFileSync(recordPath, JSON.stringify({ number, bin, supervisor }))
}

/** Null when there is no cluster, or when it has ended: another clone may have its number then. */
export function findOwn(): Started | null {
  try {
    const { number, bin, supervisor } = JSON.parse(readFileSync(recordPath, 'utf8')) as {
      number: number
      bin: string
      supervisor: ProcessIdentity
    }
    return isAlive(supervisor) ? { cluster: clusterOf(number), bin, supervisor } : null
  } catch {
    return null
  }
}

export function own(): Started {
  const found = findOwn()
  if (!found) throw new Error('This clone has no cluster. Start one: npm run cluster -- up')
  return found
}

export function forgetOwn({ supervisor }: Started) {
  if (findOwn()?.supervisor.pid === supervisor.pid || findOwn() === null) rmSync(recordPath, { force: true })
}
