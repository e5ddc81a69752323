// Control groups outlive their processes, so they are created before a node starts and removed after it has ended.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const mount = '/sys/fs/cgroup'
const isUnified = existsSync(join(mount, 'cgroup.controllers'))

/** A root for each controller. With version 2 (not tried here) all controllers share one root. */
export function controlGroupRoots(): string[] {
  if (isUnified) return [mount]
  return readdirSync(mount)
    .map((name) => join(mount, name))
    .filter((dir) => existsSync(join(dir, 'cgroup.procs')))
}

export function makeControlGroup(path: string) {
  for (const root of controlGroupRoots()) makeIn(root, path)
}

function makeIn(root: string, path: string) {
  const parent = dirname(path)
  if (parent !== '/') makeIn(root, parent)
  const dir = join(root, path)
  mkdirSync(dir, { recursive: true })
  // A cpuset of version 1 is empty until it is filled; in version 2 the parent hands controllers down.
  const inherited = existsSync(join(dir, 'cpuset.cpus')) && !isUnified ? ['cpuset.cpus', 'cpuset.mems'] : []
  for (const file of inherited) writeFileSync(join(dir, file), readFileSync(join(root, parent, file)))
  if (!isUnified) return
  const controllers = readFileSync(join(root, parent, 'cgroup.controllers'), 'utf8')
    .trim()
    .split(' ')
  writeFileSync(join(root, parent, 'cgroup.subtree_control'), controllers.map((name) => `+${name}`).join(' '))
}

/** The kernel needs a moment to let go of the groups of killed processes. */
export async function removeControlGroup(path: string) {
  const dirs = controlGroupRoots().map((root) => join(root, path))
  for (let attempt = 0; dirs.some(existsSync); attempt++) {
    if (attempt > 0) await sleep(100)
    if (attempt === 100) throw new Error(`The control group ${path} cannot be removed: a process is left in it.`)
    for (const dir of dirs) if (existsSync(dir)) removeTree(dir)
  }
}

function removeTree(dir: string) {
  for (const entry of readdirSync(dir, { withFileTypes: true }))
    if (entry.isDirectory()) removeTree(join(dir, entry.name))
  try {
    rmdirSync(dir)
  } catch {
    // The group is still in use: the next round tries again.
  }
}
