import { heartbeat } from '@temporalio/activity'

/** A quarter of the heartbeat timeout, because a heartbeat may be lost or late. */
const intervalMs = 3000

/** Sends heartbeats while `work` runs. A cancel arrives with their answers. @param details for operators, at each heartbeat */
export async function withHeartbeat<T>(work: () => Promise<T>, details?: () => unknown): Promise<T> {
  const timer = setInterval(() => heartbeat(details?.()), intervalMs)
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}
