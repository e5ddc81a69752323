// Faults of one job's trainer.
import { setTimeout as sleep } from 'node:timers/promises'
import { signalProcess } from '../../support/signal-process.ts'
import { breakNewestCheckpoint } from './checkpoints.ts'
import { kills, lasting, others, type Fault, type Target } from './fault.ts'
import { cancel, type Job } from './jobs.ts'
import type { Shares } from './plan.ts'
import { isAlive, trainersOf, type Program } from './programs.ts'
import type { World } from './world.ts'

const withTrainer: Shares = {
  'LOADING DATA': 25,
  'TRAINING MODEL': 40,
  'SAVING MODEL': 12,
  'EVALUATING MODEL': 23,
}

const trainerFault = (
  name: string,
  count: number,
  shares: Shares,
  inject: (trainer: Program, target: Target & { job: Job }, injected: () => void) => Promise<void> | void,
  mayInject: (job: Job, trainer: Program) => boolean = (job) => !job.isDeaf,
): Fault => ({
  name,
  shares,
  count,
  isOfOneJob: true,
  recovery: 'job',
  mayInject(world, job) {
    const trainer = job && trainerOf(world, job)
    return job !== null && trainer !== null && !job.asked.cancelAcknowledged && isSteady(job) && mayInject(job, trainer)
  },
  async inject({ job, ...target }, injected) {
    const trainer = job && trainerOf(target.world, job)
    if (trainer && isAlive(trainer)) await inject(trainer, { ...target, job }, injected)
  },
})

export const trainerFaults: Fault[] = [
  trainerFault('kill trainer', kills, withTrainer, ({ pid }, _, injected) => {
    signalProcess(pid, 'SIGKILL')
    injected()
  }),
  trainerFault('stop trainer', others, withTrainer, async (trainer, { random }, injected) => {
    signalProcess(trainer.pid, 'SIGSTOP')
    injected()
    await sleep(lasting(random, 25_000))
    if (isAlive(trainer)) signalProcess(trainer.pid, 'SIGCONT')
  }),
  {
    ...trainerFault(
      'hung trainer',
      others,
      { 'TRAINING MODEL': 1 },
      ({ pid }, _, injected) => {
        signalProcess(pid, 'SIGSTOP')
        injected()
      },
      // Before the first step it may be silent for minutes.
      (job) => !job.isDeaf && (job.seen?.steps.length ?? 0) > 0,
    ),
    patienceMs: 120_000,
  },
  trainerFault(
    'deaf trainer, cancelled',
    others,
    { 'LOADING DATA': 3, 'TRAINING MODEL': 5, 'EVALUATING MODEL': 2 },
    async (_, { world, job }, injected) => {
      injected()
      await cancel(world, job)
    },
    (job, trainer) => job.isDeaf && trainer.ignoresSigterm,
  ),
  ...(['torn', 'truncated'] as const).map((how) =>
    trainerFault(
      `${how} checkpoint`,
      others,
      { 'TRAINING MODEL': 1 },
      ({ pid }, { world, job, random }, injected) => {
        // It must not save another one in between.
        signalProcess(pid, 'SIGSTOP')
        const isBroken = breakNewestCheckpoint(world.stack.home, job.id, how, random)
        signalProcess(pid, isBroken ? 'SIGKILL' : 'SIGCONT')
        if (isBroken) injected()
      },
      (job) => !job.isDeaf && (job.seen?.steps.length ?? 0) >= 2,
    ),
  ),
]

/** The program itself, not what it has started. */
const trainerOf = ({ programs }: World, { id }: Job) =>
  trainersOf(programs, id).find(({ pid, group }) => pid === group) ?? null

/** It has got on since the last fault of its trainer: else the policy would end it, as it should. */
const isSteady = ({ hits }: Job) =>
  hits.every(({ injection, recoveryMs }) => !injection.isOfOneJob || recoveryMs !== null)
