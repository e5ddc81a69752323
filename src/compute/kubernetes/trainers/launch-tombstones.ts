import type { RunRef } from '../../run.ts'
import type { Terminated } from '../../trainers.ts'
import { ComputeError } from '../../errors.ts'

const keptForMs = 10 * 60_000

/**
 * This worker launches no run that was terminated before its launch. Another worker's launch may be under way: its
 * program is refused at its claim, and the reaper removes it.
 */
export function createLaunchTombstones(now: () => number = () => performance.now()) {
  const keptUntil = new Map<string, number>()

  function forgetOld(): void {
    // Insertion order is time order.
    for (const [name, untilMs] of keptUntil) {
      if (untilMs > now()) return
      keptUntil.delete(name)
    }
  }

  return {
    async launch<T extends { uid: string }>(
      name: string,
      launch: () => Promise<T>,
      end: (uid: string) => Promise<unknown>,
    ): Promise<T> {
      forgetOld()
      if (keptUntil.has(name)) throw tooLate(name)
      const launched = await launch()
      if (!keptUntil.has(name)) return launched
      await end(launched.uid)
      throw tooLate(name)
    },

    async terminate(run: RunRef, terminate: () => Promise<Terminated>): Promise<Terminated> {
      if (run.uid !== undefined) return terminate()
      forgetOld()
      // Set before the cluster is read: a launch may be under way.
      keptUntil.delete(run.name)
      keptUntil.set(run.name, now() + keptForMs)
      return terminate()
    },
  }
}

function tooLate(name: string): ComputeError {
  return new ComputeError('invalid', `The run ${name} was terminated before it was launched.`)
}
