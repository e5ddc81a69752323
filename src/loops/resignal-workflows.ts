import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../log.ts'
import type { WorkflowRuns } from '../temporal/runs.ts'

const againAfterMs = 1000

/**
 * Once, when a worker starts: stores that were restored may know nothing of what a run waits for, nor tell it. One whose
 * job is forgotten, or further on, would wait for ever.
 */
export async function remindOpenRuns({
  runs,
  log,
  signal,
}: {
  runs: Pick<WorkflowRuns, 'listOpen' | 'remind'>
  log: Pick<Log, 'warn'>
  signal: AbortSignal
}): Promise<void> {
  while (!signal.aborted) {
    try {
      for (const workflowId of await runs.listOpen('fineTune')) await runs.remind(workflowId)
      return
    } catch (error) {
      log.warn({ error: String(error) }, 'open runs cannot be reminded; trying again')
      await sleep(againAfterMs, undefined, { signal }).catch(() => undefined)
    }
  }
}
