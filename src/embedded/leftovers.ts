// HOME/children.json names the servers that run, so that the next start or stop can end those of a killed supervisor.
import { isAlive, type ProcessIdentity } from '../../tools/pid-lock.mjs'
import type { Child } from './child.ts'
import { processNames, type ProcessName } from './process-names.ts'
import { endProcess } from './end-process.ts'
import { readJson, remove, writePrivately, type Home } from './data-directory.ts'

type Recorded = Partial<Record<ProcessName, ProcessIdentity>>

export function recordChildren(home: Home, children: readonly Child[]): void {
  const entries = children.flatMap(({ name, identity }) => (identity ? [[name, identity]] : []))
  writePrivately(home.children, Object.fromEntries(entries))
}

export function leftovers(home: Home): [ProcessName, ProcessIdentity][] {
  const recorded = readJson<Recorded>(home.children) ?? {}
  return processNames.flatMap((name) => {
    const identity = recorded[name]
    return identity && isAlive(identity) ? [[name, identity]] : []
  })
}

export async function endLeftovers(home: Home, names: readonly ProcessName[] = processNames): Promise<void> {
  const found = leftovers(home).filter(([name]) => names.includes(name))
  await Promise.all(found.map(([name, identity]) => endProcess(name, identity)))
}

export function forgetChildren(home: Home): void {
  remove(home.children)
}
