// One model server, for as long as it is wanted: launch, serve, start again after a crash, stop when idle. Requests never
// wait for this workflow, only for the row that its activities keep.
import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  continueAsNew,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  sleep,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow'
import type { ModelServerActivities } from '../activities/model-servers.ts'
import { decideRestart, type ModelServerEnd } from '../src/domain/model-server.ts'
import { retry } from './activity-limits.ts'
import { searchAttributes, wakeSignal, watchTaskQueue, type ModelServerInput } from './contract.ts'
import { wasCancelled } from './was-cancelled.ts'

/** Weights may have to come from a hub first. */
const startTimeoutMs = 30 * 60_000

const { openModelServer } = proxyActivities<ModelServerActivities>({
  startToCloseTimeout: '30 seconds',
  retry,
  summary: 'open a generation',
})
const { recordModelServerEnd } = proxyActivities<ModelServerActivities>({
  startToCloseTimeout: '30 seconds',
  retry,
  summary: 'record why it ended',
})
// Both may have to end a server first, which has its grace period; the heartbeat tells a dead worker from that.
const { launchModelServer } = proxyActivities<ModelServerActivities>({
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '12 seconds',
  retry,
  summary: 'launch',
})
const { stopModelServer } = proxyActivities<ModelServerActivities>({
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '12 seconds',
  retry,
  summary: 'stop, until every process is gone',
})
// The watch lasts as long as the server lives. A cancel does not wait for the next heartbeat, so the stop begins at once.
const watching = {
  taskQueue: watchTaskQueue,
  startToCloseTimeout: '365 days',
  heartbeatTimeout: '12 seconds',
  cancellationType: 'TRY_CANCEL',
  retry,
} as const
const { awaitModelServer } = proxyActivities<ModelServerActivities>({ ...watching, summary: 'wait until it is ready' })
const { watchModelServer } = proxyActivities<ModelServerActivities>({ ...watching, summary: 'serve' })

type Run = { baseModel: string; idleTimeoutMs: number; generation: number; wakes: number }
type Served = { end: ModelServerEnd | null; readyForMs: number }

/** @param failures of starts in a row, from the run that this one continues */
export async function modelServer({ baseModel, idleTimeoutMs }: ModelServerInput, failures = 0): Promise<string> {
  const run: Run = { baseModel, idleTimeoutMs, generation: 0, wakes: 0 }
  setHandler(
    wakeSignal,
    () => {
      run.wakes += 1
    },
    { description: 'From the service: a request needs the model, so the server starts, or stays for the idle time.' },
  )
  try {
    return await keepServing(run, failures)
  } catch (error) {
    if (!wasCancelled(CancellationScope.current(), error)) {
      await giveUp(run, error)
      throw error
    }
    await CancellationScope.nonCancellable(() => stop(run, null))
    throw new CancelledFailure('the server was cancelled')
  }
}

async function keepServing(run: Run, failuresBefore: number): Promise<string> {
  let failures = failuresBefore
  for (;;) {
    if (workflowInfo().continueAsNewSuggested)
      await continueAsNew<typeof modelServer>({ baseModel: run.baseModel, idleTimeoutMs: run.idleTimeoutMs }, failures)
    const { end, readyForMs } = await serve(run)
    if (end === null) {
      // A wake that came while it was being stopped wants it back.
      if (run.wakes === 0) return `stopped: not used for ${run.idleTimeoutMs / 1000} s`
      failures = 0
      continue
    }
    const decision = decideRestart({ end, failures, readyForMs })
    if (decision.next === 'give_up') throw ApplicationFailure.nonRetryable(end.message, end.cause)
    failures = decision.failures
    await recordModelServerEnd({ ...serverOf(run), end, willRestart: true })
    show(run, 'restarting', end)
    await sleep(decision.backOffMs)
  }
}

/** One launch. @returns how it ended, or null when it was stopped because nobody used it */
async function serve(run: Run): Promise<Served> {
  const { baseModel, idleTimeoutMs } = run
  run.generation = (await openModelServer({ baseModel })).generation
  show(run, 'starting')
  const { uid } = await launchModelServer(serverOf(run))
  const launched = { ...serverOf(run), uid }
  const early = await awaitModelServer({ ...launched, timeoutMs: startTimeoutMs })
  if (early?.cause === 'not_ready') await stopModelServer({ ...serverOf(run), idleTimeoutMs: null })
  if (early) return { end: early, readyForMs: 0 }
  const readyAtMs = Date.now()
  show(run, 'ready')
  for (;;) {
    const end = await watchModelServer({ ...launched, idleTimeoutMs })
    if (end) return { end, readyForMs: Date.now() - readyAtMs }
    // Whoever woke it until now has also touched the row, which the stop looks at first.
    run.wakes = 0
    if (await stop(run, idleTimeoutMs)) return { end: null, readyForMs: Date.now() - readyAtMs }
    show(run, 'ready')
  }
}

async function stop(run: Run, idleTimeoutMs: number | null): Promise<boolean> {
  show(run, 'stopping')
  const isStopped = await stopModelServer({ ...serverOf(run), idleTimeoutMs })
  if (isStopped) show(run, 'stopped')
  return isStopped
}

/** Until the next wake starts a new run of this workflow. */
async function giveUp(run: Run, error: unknown) {
  const cause = error instanceof ActivityFailure ? error.cause : error
  if (!(cause instanceof ApplicationFailure)) return
  const end = { cause: (cause.type ?? 'code_error') as ModelServerEnd['cause'], message: cause.message }
  await recordModelServerEnd({ ...serverOf(run), end, willRestart: false })
  show(run, 'failed', end)
}

const serverOf = ({ baseModel, generation }: Run) => ({ baseModel, generation })

/** Shows the server's state in the Temporal UI. */
function show({ generation }: Run, status: string, end?: ModelServerEnd) {
  setCurrentDetails(`**${status}** · generation ${generation}${end ? ` · ${end.message}` : ''}`)
  upsertSearchAttributes([
    { key: searchAttributes.status, value: status },
    { key: searchAttributes.reason, value: end?.cause ?? null },
  ])
}
