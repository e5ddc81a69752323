import type { RunRef, Terminated } from '../../compute.ts'
import { ComputeError } from '../../errors.ts'

const keptForMs = 10 * 60_000

/**
 * What was ended before it was launched is not launched afterwards by this worker. The launch of another worker that is
 * under way may be: its program is refused at its claim, and the reaper removes it.
 */
export function createLaunchTombstones(now: () => number = () => performance.now()) {
  const keptUntil = new Map<string, number>()

  function forgetOld(): void {
    // In the order of their times.
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
      // From before we look: a launch may be under way.
      keptUntil.delete(run.name)
      keptUntil.set(run.name, now() + keptForMs)
      return terminate()
    },
  }
}

function tooLate(name: string): ComputeError {
  return new ComputeError('invalid', `${name} was ended before it was launched.`)
}
