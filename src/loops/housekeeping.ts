import type { Loop } from './run-loop.ts'

const everyMs = 60_000

/** Nothing notifies of a workflow that an operator ended, so each worker asks. */
export const keepHousekeeping = (ensure: (signal: AbortSignal) => Promise<void>): Loop => ({
  name: 'housekeeping',
  async pass(signal) {
    await ensure(signal)
    return everyMs
  },
})
