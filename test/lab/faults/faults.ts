// Every fault of the suite: the states it is injected in, how often in a full run, and what it does.
import { setTimeout as sleep } from 'node:timers/promises'
import type { LinkFault } from '../../support/faulty-link.ts'
import { signalProcess } from '../../support/signal-process.ts'
import { fillDisk, freeDisk } from './disk.ts'
import { everyState, kills, lasting, others, type Fault } from './fault.ts'
import { clockNames, linkNames, type LinkName, type ServerName } from './stack.ts'
import { trainerFaults } from './trainer-faults.ts'
import type { World } from './world.ts'

/** Faults that strike all jobs at once, in any state. */
const onAll = { shares: everyState, isOfOneJob: false, recovery: 'job', mayInject: () => true } as const

const killServer = (name: string, victims: readonly ServerName[]): Fault => ({
  name: `kill ${name}`,
  ...onAll,
  count: kills,
  endsServer: true,
  async inject({ world, random }, injected) {
    // Usually one of the two workers is hit, now and then both.
    const chosen = victims.length > 1 && random.below(4) > 0 ? [random.pick(victims)] : victims
    for (const victim of chosen) signalProcess(world.stack.pidOf(victim), 'SIGKILL')
    injected()
  },
})

const stopServer = (name: string, victims: readonly ServerName[]): Fault => ({
  name: `stop ${name}`,
  ...onAll,
  count: others,
  async inject({ world, random }, injected) {
    const pid = world.stack.pidOf(random.pick(victims))
    signalProcess(pid, 'SIGSTOP')
    injected()
    await sleep(lasting(random, 60_000))
    signalProcess(pid, 'SIGCONT')
  },
})

const failLink = (name: LinkName, kind: LinkFault['kind']): Fault => ({
  name: `${kind} ${name}`,
  ...onAll,
  count: others,
  async inject({ world, random }, injected) {
    const link = world.stack.link(name)
    link.fail(kind === 'delay' ? { kind, ms: 20 + random.below(300) } : { kind })
    injected()
    // Trainers that cannot report for long count as stalled.
    await sleep(lasting(random, name === 'internal' ? 15_000 : 40_000))
    link.mend()
  },
})

const clockStep: Fault = {
  name: 'clock step',
  ...onAll,
  count: others,
  async inject({ world, random }, injected) {
    const clock = world.stack.clock(random.pick(clockNames))
    // The clock is as often seconds as hours off.
    const stepMs = lasting(random, 12 * 3_600_000)
    clock.set(random.below(2) === 0 ? stepMs : -stepMs)
    injected()
    await sleep(lasting(random, 40_000))
    clock.set(0)
  },
}

const killModelServer: Fault = {
  name: 'kill model server',
  shares: everyState,
  count: kills,
  isOfOneJob: false,
  recovery: 'model',
  mayInject: (world) => world.modelAnswers && serversIn(world).length > 0,
  async inject({ world, random }, injected) {
    const programs = serversIn(world)
    if (programs.length === 0) return
    signalProcess(random.pick(programs).pid, 'SIGKILL')
    injected()
  },
}

const fullDisk: Fault = {
  name: 'full disk',
  ...onAll,
  count: others,
  async inject({ world, random }, injected) {
    fillDisk(world.stack.home)
    injected()
    await sleep(lasting(random, 20_000))
    freeDisk(world.stack.home)
  },
}

export const makeFaults = ({ hasOwnDisk, hasClocks }: { hasOwnDisk: boolean; hasClocks: boolean }): Fault[] => [
  ...(['api', 'temporal', 'postgres', 's3'] as const).map((name) => killServer(name, [name])),
  killServer('worker', ['worker-1', 'worker-2']),
  killModelServer,
  ...trainerFaults,
  stopServer('api', ['api']),
  stopServer('worker', ['worker-1', 'worker-2']),
  ...linkNames.flatMap((name) => (['delay', 'reset', 'blackhole'] as const).map((kind) => failLink(name, kind))),
  ...(hasOwnDisk ? [fullDisk] : []),
  ...(hasClocks ? [clockStep] : []),
]

const serversIn = ({ programs }: World) => programs.filter(({ kind }) => kind === 'server')
