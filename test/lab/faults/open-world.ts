// Opens and closes a run: its stack with a data directory of its own, which is removed afterwards. After a violation the logs stay.
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../../../tools/paths.mjs'
import { createClient } from './client.ts'
import { hasClocks } from './clock.ts'
import { mountDisk, unmountDisk } from './disk.ts'
import { askModel, watchProcesses } from './workload.ts'
import { startFaultStack } from './stack.ts'
import { violate, type World } from './world.ts'

export const keptLogs = join(root, '.cache/faults-logs')

type Options = { maxSteps: number; say: (text: string) => void; settings?: NodeJS.ProcessEnv }

export async function inWorld(
  options: Options,
  run: (world: World, hasOwnDisk: boolean) => Promise<void>,
): Promise<void> {
  const { say } = options
  const dir = mkdtempSync(join(tmpdir(), 'anneal-faults-'))
  const hasOwnDisk = mountDisk(dir)
  if (!hasOwnDisk) say('NOT INJECTED: a full disk; that needs root, and leave to mount a file system')
  if (!hasClocks) say("NOT INJECTED: a clock step; that needs libfaketime, which Debian's package of that name has")
  const violations: World['violations'] = []
  try {
    await inStack(dir, { ...options, violations }, (world) => run(world, hasOwnDisk))
  } finally {
    if (violations.length > 0) {
      rmSync(keptLogs, { recursive: true, force: true })
      cpSync(join(dir, 'logs'), keptLogs, { recursive: true })
      cpSync(join(dir, 'runs'), join(keptLogs, 'runs'), { recursive: true, filter: (path) => !path.endsWith('/work') })
    }
    if (hasOwnDisk) unmountDisk(dir)
    rmSync(dir, { recursive: true, force: true })
  }
}

async function inStack(
  dir: string,
  { maxSteps, say, settings, violations }: Options & Pick<World, 'violations'>,
  run: (world: World) => Promise<void>,
) {
  const interrupted = new Promise<never>((_, reject) => {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => reject(new Error(`${name}: stopping`)))
  })
  // Nobody waits for this promise while the stack starts.
  interrupted.catch(() => undefined)
  const stack = await startFaultStack(dir, settings)
  const watching = new AbortController()
  try {
    const client = await createClient(stack, (what) => violate(world, what))
    const world: World = {
      ...{ stack, client, maxSteps, violations, say },
      losses: new Map(),
      ...{ jobs: [], injections: [], programs: [] },
      ...{ modelAnswers: false, isClosing: false },
    }
    void watchProcesses(world, watching.signal)
    void askModel(world)
    await Promise.race([run(world), interrupted])
  } finally {
    watching.abort()
    await stack.stop()
  }
}
