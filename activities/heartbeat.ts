import { heartbeat } from '@temporalio/activity'

/** A quarter of the heartbeat timeout, because a heartbeat may be lost or late. */
const intervalMs = 3000

/** Sends heartbeats while `work` runs. A cancel arrives with their answers. */
export async function withHeartbeat<T>(work: () => Promise<T>): Promise<T> {
  const timer = setInterval(() => heartbeat(), intervalMs)
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}
