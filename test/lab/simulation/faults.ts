// Every side effect passes here. It may be slow, fail, lose its answer, or be the last act of its process.
import { kernel, never, place, type Proc } from './kernel.ts'

export type Service = 'database' | 'store' | 'compute' | 'temporal' | 'api'

/** A crash before the effect prevents it. A crash after the effect loses its answer. */
export type CrashPoint = `${string}/${'before' | 'after'}`

/** Kills the process when it passes the point for the n-th time. */
export type Target = { point: CrashPoint; occurrence: number }

export class Unreachable extends Error {
  constructor(service: Service) {
    super(`${service} does not answer`)
    this.name = 'Unreachable'
  }
}

type Rates = { crash: number; failure: number; slow: number }
type Outage = { service: Service; fromMs: number; toMs: number }

export class Faults {
  readonly seen = new Map<CrashPoint, number>()
  readonly crashed = new Set<CrashPoint>()
  /** A hash of every point that was passed, in order, with its time. */
  fingerprint = 0
  isOn = true
  readonly #rates: Rates
  readonly #outages: Outage[]
  readonly #target: Target | undefined

  constructor({ rates, outages, target }: { rates: Rates; outages: Outage[]; target: Target | undefined }) {
    this.#rates = rates
    this.#outages = outages
    this.#target = target
  }

  isDown(service: Service): boolean {
    const now = kernel().sinceStartMs
    return (
      this.isOn &&
      this.#outages.some((outage) => outage.service === service && now >= outage.fromMs && now < outage.toMs)
    )
  }

  /** Runs one effect behind a network and a service that may fail. */
  async through<T>(service: Service, operation: string, effect: () => T | Promise<T>): Promise<T> {
    const { proc, task } = place()
    const point = `${proc.kind}/${task}/${operation}` as const
    await this.#travel()
    if (this.isDown(service)) {
      await kernel().sleep(kernel().between(1000, 5000))
      throw new Unreachable(service)
    }
    this.#mayCrash(proc, `${point}/before`)
    if (!proc.isAlive) return never()
    if (this.#fails()) throw new Unreachable(service)
    const answer = await effect()
    this.#mayCrash(proc, `${point}/after`)
    if (!proc.isAlive) return never()
    if (kernel().chance(0.3)) await this.#travel()
    if (this.#fails()) throw new Unreachable(service)
    return answer
  }

  #travel(): Promise<void> {
    const slow = this.isOn && kernel().chance(this.#rates.slow)
    return kernel().sleep(slow ? kernel().between(200, 20_000) : kernel().between(0, 20))
  }

  #fails = () => this.isOn && kernel().chance(this.#rates.failure)

  #mayCrash(proc: Proc, point: CrashPoint) {
    if (proc.kind === 'user') return
    const count = (this.seen.get(point) ?? 0) + 1
    this.seen.set(point, count)
    this.fingerprint = (Math.imul(this.fingerprint, 31) + point.length + count + kernel().sinceStartMs) | 0
    const isTarget = this.#target?.point === point && this.#target.occurrence === count
    if (!isTarget && !(this.isOn && kernel().chance(this.#rates.crash))) return
    this.crashed.add(point)
    proc.die()
  }
}
