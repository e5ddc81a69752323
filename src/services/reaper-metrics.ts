import { Counter } from 'prom-client'

/** Of this worker. Anything but zero deserves a look: something ended without its workflow. */
export const reapedCounter = new Counter({
  name: 'anneal_reaped_total',
  help: 'What the reaper released: runs and attempts that nothing took care of, jobs whose workflow was ended.',
  labelNames: ['what'],
  registers: [],
})

export const countReaped = (what: string) => reapedCounter.inc({ what })
