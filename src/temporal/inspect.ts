// What an operator wants to know of a running Temporal. Changes nothing.
import { Connection } from '@temporalio/client'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { taskQueue } from '../../workflows/contract.ts'
import type { TemporalConfig } from '../config/temporal.ts'

/** From temporal.api.enums.v1.TaskQueueType. */
const workflowTasks = 1
const pollMs = 5000
const workerMs = 10_000
const lookAgainMs = 200

export type Inspected = {
  serverVersion: string
  /** Processes that have asked for work lately: a poll lasts a minute at most. */
  pollers: number
  /** How far the server's clock is ahead of ours; null when it was not told. */
  clockAheadMs: number | null
}

/** @throws Error when Temporal does not answer, or refuses */
export async function inspectTemporal({ namespace, connectionOptions }: TemporalConfig): Promise<Inspected> {
  const connection = await Connection.connect({ ...connectionOptions, connectTimeout: '10s' })
  try {
    const { serverVersion } = await connection.workflowService.getSystemInfo({})
    const pollers = await waitForPollers(connection, namespace)
    return { serverVersion, pollers: pollers.length, clockAheadMs: await readClock(connection, namespace) }
  } finally {
    await connection.close()
  }
}

/** A worker that has just started asks within moments. */
async function waitForPollers(connection: Connection, namespace: string) {
  for (const deadline = performance.now() + workerMs; ;) {
    const pollers = await pollersOf(connection, namespace, taskQueue)
    if (pollers.length > 0 || performance.now() > deadline) return pollers
    await sleep(lookAgainMs)
  }
}

async function pollersOf({ workflowService }: Connection, namespace: string, name: string) {
  const { pollers } = await workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name },
    taskQueueType: workflowTasks,
  })
  return pollers
}

/** No answer has the server's time, but a task queue tells when it was last asked: so this asks one of its own. */
async function readClock(connection: Connection, namespace: string): Promise<number | null> {
  const name = `anneal-doctor-${randomUUID()}`
  const askedAtMs = Date.now()
  const poll = { namespace, taskQueue: { name }, identity: 'anneal doctor' }
  const polling = connection
    .withDeadline(askedAtMs + pollMs, () => connection.workflowService.pollWorkflowTaskQueue(poll))
    .catch(() => null)
  const ended = polling.then(() => true)
  for (;;) {
    const [poller] = await pollersOf(connection, namespace, name)
    const at = poller?.lastAccessTime
    if (at) return Number(at.seconds) * 1000 + (at.nanos ?? 0) / 1e6 - (askedAtMs + Date.now()) / 2
    if (await Promise.race([ended, sleep(lookAgainMs, false)])) return null
  }
}
