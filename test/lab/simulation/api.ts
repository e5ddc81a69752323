// The api of a schedule: one process that starts again after it dies. It runs the real services.
import type { ServiceDependencies } from '../../../src/services/context.ts'
import { Unreachable, type Faults } from './faults.ts'
import { inProc, kernel, Proc } from './kernel.ts'
import type { CallApi } from './trainer.ts'

export function createApi(faults: Faults, deps: ServiceDependencies) {
  let proc = new Proc('api')

  function start() {
    proc = new Proc('api')
    proc.onDeath(() => kernel().later(kernel().between(300, 8000), start))
  }

  /** The connection of a request breaks when its process dies. */
  const answer = (operation: string, work: (deps: ServiceDependencies) => Promise<unknown>) =>
    new Promise<never>((resolve, reject) => {
      if (!proc.isAlive) return reject(new Unreachable('api'))
      const off = proc.onDeath(() => reject(new Unreachable('api')))
      const answered = inProc(proc, operation, () => work(deps)) as Promise<never>
      answered.finally(off).then(resolve, reject)
    })

  const call: CallApi = (operation, work) =>
    faults.through('api', operation, () => {
      // The network delivers some requests twice.
      if (faults.isOn && kernel().chance(0.02))
        kernel().later(kernel().between(0, 3000), () => void answer(operation, work).catch(() => undefined))
      return answer(operation, work)
    })

  return { call, start, isAlive: () => proc.isAlive, die: () => proc.die() }
}
