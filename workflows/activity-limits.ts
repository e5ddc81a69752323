// How activities are repeated, and how long they may take. Each workflow repeats until its owner's service answers again: an
// unreachable database, store or cluster says nothing about the work.

export const retry = {
  initialInterval: '200 milliseconds',
  maximumInterval: '10 seconds',
  backoffCoefficient: 2,
} as const

/** For work with many bytes. The heartbeat tells a dead worker from a slow store. */
export const untilDone = { startToCloseTimeout: '1 day', heartbeatTimeout: '12 seconds', retry } as const

/** The same, with an end for errors that nobody foresaw. */
export const untilAWeek = { ...untilDone, scheduleToCloseTimeout: '7 days' } as const
