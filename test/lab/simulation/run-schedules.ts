// Runs schedules in processes side by side.
import { fork, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Finished, Schedule } from './schedule-process.ts'
import { Tally, type Report } from './tally.ts'
import { bundleWorkflows } from './temporal/bundle.ts'

type Request = {
  schedules: readonly Schedule[]
  processes: number
  /** Afterwards crash once at every point that no schedule has crashed at. */
  isCovering?: boolean
  breakName?: string | undefined
  /** Stop after this many failed schedules. */
  maxFailures?: number
  onProgress?: (done: number) => void
}

export const seeds = (from: number, count: number): Schedule[] =>
  Array.from({ length: count }, (_, index) => ({ seed: from + index }))

export async function runSchedules(request: Request): Promise<Report> {
  const { schedules, processes, isCovering = false, breakName, maxFailures = 5 } = request
  const folder = mkdtempSync(join(tmpdir(), 'anneal-simulation-'))
  const bundlePath = join(folder, 'workflows.js')
  const children: Child[] = []
  try {
    writeFileSync(bundlePath, await bundleWorkflows())
    for (let each = 0; each < processes; each++) children.push(new Child(bundlePath, breakName))
    const tally = new Tally(maxFailures)
    await runAll(schedules, children, tally)
    if (isCovering) await runAll(tally.missing(), children, tally)
    return tally.report()
  } finally {
    for (const child of children) child.kill()
    rmSync(folder, { recursive: true })
  }

  /** A free process takes the next schedule. */
  async function runAll(all: readonly Schedule[], by: readonly Child[], tally: Tally) {
    const left = all.toReversed()
    await Promise.all(
      by.map(async (child) => {
        await child.ready
        for (let next = left.pop(); next && !tally.isEnough; next = left.pop()) {
          tally.add(await child.run(next))
          request.onProgress?.(tally.count)
        }
      }),
    )
  }
}

class Child {
  readonly ready: Promise<unknown>
  readonly #process: ChildProcess
  #answer = Promise.withResolvers<unknown>()

  constructor(bundlePath: string, breakName: string | undefined) {
    const args = [bundlePath, ...(breakName === undefined ? [] : [breakName])]
    this.#process = fork(join(import.meta.dirname, 'schedule-process.ts'), args, { serialization: 'advanced' })
    this.#process.on('message', (answer) => this.#answer.resolve(answer))
    this.#process.on('exit', (code) => this.#answer.reject(new Error(`a schedule's process ended with ${code}`)))
    this.ready = this.#answer.promise
  }

  async run(schedule: Schedule): Promise<Finished> {
    this.#answer = Promise.withResolvers()
    this.#process.send(schedule)
    return (await this.#answer.promise) as Finished
  }

  kill() {
    this.#answer.promise.catch(() => undefined)
    this.#process.kill('SIGKILL')
  }
}
