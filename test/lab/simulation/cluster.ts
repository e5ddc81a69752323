// The compute of a schedule: a cluster that forgets terminated runs and loses nodes. For the checks it remembers what
// happened to every run.
import type { EndState, FailureReason, RunRef, RunState } from '../../../src/compute/run.ts'
import type { TrainerCompute, TrainerSpec } from '../../../src/compute/trainers.ts'
import { ComputeError } from '../../../src/compute/errors.ts'
import { Unreachable, type Faults } from './faults.ts'
import { inProc, kernel, noteFatal, Proc } from './kernel.ts'

export type SimulatedRun = {
  uid: string
  spec: TrainerSpec
  proc: Proc
  /** SIGTERM sets this flag, which the program reads between steps. */
  isTerminating: boolean
  /** The node no longer answers. The program may live on, cut off for a while, and come back later. */
  isNodeLost: boolean
  lostAtMs: number
  cutOffUntilMs: number
  /** The cluster has declared the run dead: from then on the run must not be able to write. */
  isDeclaredDead: boolean
  createdAt: Date
  end: Extract<RunState, { state: 'succeeded' | 'failed' }> | null
  endedBy: string | null
}

const nodeLostMs = 60_000
const lookMs = 500
/** Longer than `nodeLostMs`, so that some nodes come back after the cluster has declared them lost. */
const longestCutOffMs = 180_000

const isSilent = ({ lostAtMs }: SimulatedRun) => kernel().nowMs >= lostAtMs + nodeLostMs
const lost = ({ uid }: SimulatedRun) =>
  ({ state: 'failed', uid, exitCode: null, signal: null, reason: 'node_lost', message: '' }) as const

export function createCluster({
  faults,
  slots,
  runProgram,
}: {
  faults: Faults
  slots: number | null
  runProgram: (run: SimulatedRun) => Promise<number>
}) {
  const present = new Map<string, SimulatedRun>()
  const everyRun: SimulatedRun[] = []

  const through = <T>(operation: string, effect: () => T | Promise<T>) =>
    faults.through('compute', `compute.${operation}`, effect).catch((error: unknown) => {
      throw error instanceof Unreachable ? new ComputeError('unavailable', error.message) : error
    })

  function start(spec: TrainerSpec): SimulatedRun {
    const run: SimulatedRun = {
      uid: `uid-${everyRun.length + 1}`,
      spec,
      proc: new Proc('pod'),
      isTerminating: false,
      isNodeLost: false,
      lostAtMs: 0,
      cutOffUntilMs: 0,
      isDeclaredDead: false,
      createdAt: new Date(),
      end: null,
      endedBy: null,
    }
    everyRun.push(run)
    present.set(spec.name, run)
    run.proc.onDeath(() => finish(run, 137, 'killed', 'a signal'))
    inProc(run.proc, 'program', () =>
      kernel().after(kernel().between(50, 3000), () => {
        runProgram(run).then((exitCode) => finish(run, exitCode, 'exited', 'itself'), noteFatal)
      }),
    )
    return run
  }

  function finish(run: SimulatedRun, exitCode: number | null, reason: FailureReason, endedBy: string) {
    if (run.end) return
    const { uid } = run
    run.endedBy = endedBy
    run.end =
      exitCode === 0
        ? { state: 'succeeded', uid }
        : { state: 'failed', uid, exitCode, signal: null, reason, message: '' }
    run.proc.die()
  }

  function read({ name, uid }: RunRef): RunState {
    const run = present.get(name)
    if (!run || (uid !== undefined && run.uid !== uid)) return { state: 'gone' }
    if (run.isNodeLost) return isSilent(run) ? lost(run) : { state: 'unreachable', message: 'its node does not answer' }
    return run.end ?? { state: 'running', uid: run.uid }
  }

  const probe = (run: RunRef): Promise<RunState> =>
    through('probe', () => read(run)).catch(() => ({ state: 'unreachable', message: 'no answer' }))

  const trainers: TrainerCompute = {
    launch: (spec) =>
      through('launch', () => {
        const known = present.get(spec.name)
        return { uid: (known ?? start(spec)).uid, adopted: known !== undefined }
      }),
    probe,
    async watch(ref, { signal, onState }) {
      let last = ''
      for (let waitMs = lookMs; ; waitMs = Math.min(waitMs * 2, 8000)) {
        signal.throwIfAborted()
        const state = await probe(ref)
        signal.throwIfAborted()
        if (state.state !== last && state.state !== 'unreachable') onState?.(state)
        last = state.state
        if (state.state === 'succeeded' || state.state === 'failed' || state.state === 'gone') return state
        await kernel().sleep(waitMs)
      }
    },
    readLogs: async () => null,
    async terminate({ name, uid }, { graceMs, fence, signal }) {
      const deadline = kernel().nowMs + graceMs
      for (;;) {
        signal?.throwIfAborted()
        const run = await through('terminate', () => {
          const found = present.get(name)
          if (!found || (uid !== undefined && found.uid !== uid)) return null
          // No signal arrives on a lost node.
          found.isTerminating ||= !found.isNodeLost
          return found
        })
        if (!run) return { end: { state: 'gone' }, logTail: null }
        if (run.isNodeLost) {
          await kernel().sleep(run.lostAtMs + nodeLostMs - kernel().nowMs)
          await fence?.()
          const end = await through('declare dead', () => forget(run, 'node_lost'))
          return { end, logTail: 'log' }
        }
        if (kernel().nowMs >= deadline) run.proc.die()
        if (run.end) {
          const end = await through('forget', () => forget(run, null))
          return { end, logTail: 'log' }
        }
        await kernel().sleep(lookMs)
      }
    },
    list: () =>
      through('list', () =>
        [...present.values()].map((run) => ({
          name: run.spec.name,
          uid: run.uid,
          labels: run.spec.labels,
          createdAt: run.createdAt,
          state: read({ name: run.spec.name }),
        })),
      ),
    removeEndedRuns: async () => [],
    capacity: () => ({ slots }),
    logReadIntervalMs: 60_000,
    close: () => undefined,
  }

  function forget(run: SimulatedRun, reason: FailureReason | null): EndState {
    if (present.get(run.spec.name) === run) present.delete(run.spec.name)
    else return { state: 'gone' }
    run.isDeclaredDead = true
    if (reason === null) return run.end ?? { state: 'gone' }
    run.endedBy ??= reason
    return { ...lost(run), reason }
  }

  return {
    trainers,
    everyRun,
    living: () => everyRun.filter(({ end, isDeclaredDead }) => end === null && !isDeclaredDead),
    /** Kills, evicts or removes a run, or loses its node. */
    strike(run: SimulatedRun, how: 'kill' | 'evict' | 'lose node' | 'remove' | 'exhaust') {
      if (run.end) return
      if (how === 'kill') run.proc.die()
      if (how === 'evict') finish(run, 143, 'evicted', 'its node')
      if (how === 'exhaust') finish(run, 137, 'out_of_memory', 'the kernel')
      if (how === 'lose node') {
        run.isNodeLost = true
        run.lostAtMs = kernel().nowMs
        run.cutOffUntilMs = kernel().nowMs + kernel().between(0, longestCutOffMs)
      }
      if (how === 'remove') {
        finish(run, null, 'killed', 'an operator')
        present.delete(run.spec.name)
      }
    },
  }
}
