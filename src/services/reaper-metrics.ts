import { Counter } from 'prom-client'

/** Counts what this worker reaped. Above zero, something ended without its workflow and should be investigated. */
export const reapedCounter = new Counter({
  name: 'anneal_reaped_total',
  help: 'What the reaper released: runs and attempts that nothing took care of, jobs whose workflow was ended.',
  labelNames: ['what'],
  registers: [],
})

export const countReaped = (what: string) => reapedCounter.inc({ what })
