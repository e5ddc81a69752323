import { heartbeat } from '@temporalio/activity'

/** A quarter of the heartbeat timeout: one may be lost or late. */
const intervalMs = 3000

/** Tells Temporal that the worker lives for as long as `work` runs; the way in which a cancel comes back. */
export async function withHeartbeat<T>(work: () => Promise<T>): Promise<T> {
  const timer = setInterval(() => heartbeat(), intervalMs)
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}
