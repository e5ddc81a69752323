// Runs one schedule from its first event until everything rests, and returns the violations.
import type { CrashPoint } from './faults.ts'
import { begin, kernel } from './kernel.ts'
import { playScenario } from './scenario.ts'
import type { Sandbox } from './temporal/sandbox.ts'
import { createWorld, type World, type WorldOptions } from './world.ts'

const limits = { virtualMs: 3 * 60 * 60_000, events: 60_000 }

export type Outcome = {
  violations: string[]
  events: number
  virtualMs: number
  /** The final status of each job. */
  statuses: string[]
  passed: CrashPoint[]
  crashed: CrashPoint[]
  /** A hash that depends on the seed only, not on earlier schedules. */
  fingerprint: number
}

export async function runSchedule(seed: number, sandbox: Sandbox, options: WorldOptions = {}): Promise<Outcome> {
  begin(seed)
  const world = createWorld(sandbox, options)
  const { faults, invariants, tables } = world
  const { violations } = invariants
  try {
    world.start()
    const isDone = playScenario(world)
    const end = await kernel().run(() => violations.length > 0 || (isDone() && isSettled(world)), limits)
    if (end !== 'over') invariants.violate(`does not come to rest (${end}): ${JSON.stringify(unsettled(world))}`)
    else if (violations.length === 0) invariants.checkEnd()
  } catch (error) {
    invariants.violate(`threw: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
  }
  world.stop()
  const { events, sinceStartMs: virtualMs } = kernel()
  const statuses = tables.all('trainingJob').map(({ status }) => status)
  const [passed, crashed] = [[...faults.seen.keys()], [...faults.crashed]]
  return { violations, events, virtualMs, statuses, passed, crashed, fingerprint: faults.fingerprint }
}

const isSettled = (world: World) => !world.faults.isOn && Object.values(unsettled(world)).every((count) => count === 0)

function unsettled({ tables, cluster, server }: World) {
  return {
    open: tables.all('trainingJob', ({ finishedAt }) => finishedAt === null).length,
    undelivered: tables.all('outboxMessage', ({ deliveredAt }) => deliveredAt === null).length,
    unreleased: tables.all('attempt', ({ releasedAt }) => releasedAt === null).length,
    living: cluster.living().length,
    running: server.all().filter(({ type, status }) => type === 'fineTune' && status === 'RUNNING').length,
  }
}
