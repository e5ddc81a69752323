// Works on graders, items and answers in threads: long texts, patterns, templates and schemas of users take time and memory
// that the process does not have.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Grader } from '../domain/grader.ts'
import { invalidInput, ServiceError } from '../domain/service-error.ts'
import { createThreads, neededTooMuchMemory, within, type Ask } from '../worker-thread-pool.ts'
import { needsCompiling, requireDistinctNames } from './compile-graders.ts'
import { createPythonGraders, noPythonGraders, type PythonGraders } from './python/python-graders.ts'
import type { InputOf, Question, ResultOf, ThreadAnswer, Work } from './grading-thread.ts'

const maxThreads = 4
/** The others find a free thread at any time. */
const maxThreadsOfAccount = 1
const heapLimitMegabytes = 256
/** Far more than a chunk takes, also on a busy machine. */
const limitMs = 300_000
/** A client waits. Usual patterns and schemas take a few milliseconds. */
const compileLimitMs = 5000

export type Grading = ReturnType<typeof createGrading>

/** Names a task in refusals: its field in the request, its subject, and advice when the task takes too much. */
type Topic = { field: string; subject: string; advice: string }
const scoring: Topic = { field: 'graders', subject: 'Scoring a part of the answers', advice: 'Use simpler graders.' }
const reading: Topic = {
  field: 'data_source',
  subject: 'Reading the items of the run',
  advice: 'Use fewer items, or name fewer parts of them.',
}
const filling: Topic = {
  field: 'grader',
  subject: 'Filling the texts of the criteria',
  advice: 'Name fewer or shorter parts.',
}

type Options = { atMostMs?: number; compileAtMostMs?: number; python?: PythonGraders }

export function createGrading({
  atMostMs = limitMs,
  compileAtMostMs = compileLimitMs,
  python = createPythonGraders({ sandbox: noPythonGraders }),
}: Options = {}) {
  const module = new URL('./grading-thread.ts', import.meta.url)
  const threads = createThreads(module, {
    atMost: maxThreads,
    atMostOfAccount: maxThreadsOfAccount,
    heapLimitMegabytes,
  })

  /**
   * @param accountId accounts take turns
   * @throws ServiceError invalid_input when it takes too much time or memory, and the signal's reason
   */
  const run =
    <W extends Work>(work: W, topic: Topic) =>
    async (accountId: string, input: InputOf<W>, signal?: AbortSignal): Promise<ResultOf<W>> => {
      const answer = await threads
        .use(
          (ask) => within(atMostMs, ask({ work, input } satisfies Question<W>), () => tookTooLong(topic, atMostMs)),
          signal,
          accountId,
        )
        .catch((error: unknown) => {
          throw neededTooMuchMemory(error) ? needsTooMuch(topic) : error
        })
      return resultOf<W>(answer as ThreadAnswer)
    }

  return {
    python,

    /** @returns by grader, in their order, the score of each answer; null from graders that ask a model or a program */
    score: run('score', scoring),
    /** Chosen by the expected answers. */
    defaultGraders: run('defaultGraders', scoring),
    layOutItems: run('layOutItems', reading),
    chatLines: run('chatLines', reading),
    fillChunk: run('fillChunk', filling),

    /** @param field the list's place in the request. @throws ServiceError invalid_input that names the grader */
    async compile(accountId: string, graders: readonly Grader[], field = 'graders', signal?: AbortSignal) {
      requireDistinctNames(graders, field)
      await python.check(accountId, programsIn(graders, field), signal)
      if (!graders.some(needsCompiling)) return
      let path = field
      const compileAll = async (ask: Ask): Promise<ThreadAnswer> => {
        // The time counts once the thread has started.
        await ask(compiling({ type: 'exact_match' }, path))
        const late = sleep(compileAtMostMs, 'late' as const, { ref: false })
        for (const [index, grader] of graders.entries()) {
          path = `${field}[${index}]`
          if (!needsCompiling(grader)) continue
          const answer = await Promise.race([ask(compiling(grader, path)), late])
          if (answer === 'late') throw tooSlow(path, grader, compileAtMostMs)
          if ('refusal' in (answer as ThreadAnswer)) return answer as ThreadAnswer
        }
        return { result: null }
      }
      const answer = await threads.use(compileAll, signal, accountId).catch((error: unknown) => {
        throw neededTooMuchMemory(error)
          ? invalidInput(path, 'The grader cannot be used: it needs too much memory. Use a smaller schema.')
          : error
      })
      resultOf<'compile'>(answer)
    },
  }
}

const programsIn = (graders: readonly Grader[], field: string) =>
  graders.flatMap((grader, index) => (grader.type === 'python' ? [{ grader, path: `${field}[${index}]` }] : []))

const tookTooLong = ({ field, subject, advice }: Topic, ms: number) =>
  invalidInput(field, `${subject} took more than ${ms / 1000} seconds. ${advice}`)

const compiling = (grader: Grader, path: string): Question<'compile'> => ({ work: 'compile', input: { grader, path } })

/** Outside of the pool, which would end the thread with the error. @throws ServiceError invalid_input */
function resultOf<W extends Work>(answer: ThreadAnswer): ResultOf<W> {
  if ('refusal' in answer)
    throw new ServiceError('invalid_input', answer.refusal.message, { issues: answer.refusal.issues })
  return answer.result as ResultOf<W>
}

const needsTooMuch = ({ field, subject, advice }: Topic) =>
  invalidInput(field, `${subject} needs more than ${heapLimitMegabytes} MB of memory. ${advice}`)

const tooSlow = (path: string, { type }: Grader, ms: number) =>
  invalidInput(
    path,
    `The ${type} grader cannot be used: compiling the graders takes more than ${ms / 1000} seconds. Use shorter patterns with fewer wide classes, or a smaller schema.`,
  )
