// Scores answers in threads: long texts, patterns and schemas of users take time that the event loop does not have.
import { setTimeout as sleep } from 'node:timers/promises'
import { invalidInput } from '../domain/service-error.ts'
import { createThreads } from '../worker-thread-pool.ts'
import type { GradingAnswer, GradingTask } from './grading-thread.ts'

const maxThreads = 4
/** The others find a free thread at any time. */
const maxThreadsOfAccount = 1
const heapLimitMegabytes = 256
/** Far more than a chunk takes, also on a busy machine. */
const limitMs = 300_000

export type Grade = ReturnType<typeof createGrading>

export function createGrading({ atMostMs = limitMs }: { atMostMs?: number } = {}) {
  const module = new URL('./grading-thread.ts', import.meta.url)
  const threads = createThreads(module, { atMost: maxThreads, atMostOfOne: maxThreadsOfAccount, heapLimitMegabytes })

  /**
   * @param accountId accounts take turns
   * @returns by grader, in their order, the score of each answer; null from graders that ask a model
   * @throws ServiceError invalid_input when it takes too long, and the signal's reason
   */
  return (accountId: string, task: GradingTask, signal?: AbortSignal): Promise<GradingAnswer> =>
    threads.use(
      async (ask) => {
        const late = sleep(atMostMs, 'late' as const, { ref: false })
        const answer = await Promise.race([ask(task), late])
        // The error ends the thread.
        if (answer === 'late') throw tookTooLong(atMostMs)
        return answer as GradingAnswer
      },
      signal,
      accountId,
    )
}

const tookTooLong = (ms: number) =>
  invalidInput('graders', `Scoring a part of the answers took more than ${ms / 1000} seconds. Use simpler graders.`)
