// Graders that are programs of users, each in a sandbox of its own.
import { setTimeout as sleep } from 'node:timers/promises'
import type { PythonProgram } from '../../domain/python-grader.ts'
import { invalidInput, ServiceError } from '../../domain/service-error.ts'
import { readAnswer, type PythonScore } from './answers.ts'
import type { Answer } from './grader-process.ts'
import type { ProgramsOfAccount, Sandbox } from './sandbox.ts'

export type PythonGraders = ReturnType<typeof createPythonGraders>
/** A program and its place in the request. */
export type PlacedProgram = { grader: PythonProgram; path: string }

/** For imports of large packages on a busy machine. */
const loadMs = 60_000
/** Then the process ends, and the next place is another account's if one waits. */
const turnMs = 15_000
/** After a fault: starts of processes cost the others more than graders do. */
const pauseMs = 200
const samplesOfProcess = 256
const retryAfterSeconds = 30

export const noPythonGraders =
  'This installation runs no Python graders: the operator has not set ANNEAL_PYTHON_GRADERS.'

const away = (sentence: string) => new ServiceError('unavailable', sentence, { retryAfterSeconds })

type Options = {
  /** A sentence where there is none. */
  sandbox: Sandbox | string
  /** A sample may take so long. */
  sampleMs?: number
  /** Tells the operator why a sandbox does not start. */
  warn?: (reason: string) => void
}
/** `problem`: why the program cannot be loaded. */
type Loaded = { ask: (line: string, atMostMs: number) => Promise<Answer>; problem: string | null }
type Work<T> = (loaded: Loaded) => Promise<T>
type Asked = { accountId: string; grader: PythonProgram; signal: AbortSignal | undefined }

export function createPythonGraders({ sandbox, sampleMs = 10_000, warn }: Options) {
  /** Works with a new process that has tried to load the program. */
  async function withProcess<T>(
    { accountId, grader, signal }: Asked,
    refuse: (sentence: string) => ServiceError,
    work: Work<T>,
  ): Promise<T> {
    if (typeof sandbox === 'string') throw refuse(sandbox)
    return sandbox.use({ accountId, grader, signal }, async (opened) => {
      if ('refusal' in opened) {
        warn?.(opened.reason)
        throw opened.mayPass ? away(opened.refusal) : refuse(opened.refusal)
      }
      const { ask } = opened
      const loaded = readAnswer(await ask(JSON.stringify({ source: grader.source }), loadMs), 'ready')
      return work({ ask, problem: 'error' in loaded ? loaded.error : null })
    })
  }

  /**
   * The scores of the first samples: at least one, until the process ends or its turn does. A process may end by what an earlier
   * sample has left there, so its end is the fault of its first sample only. Another sample begins a new process.
   * @param mayLose whether the first sample is asked again when the process is lost with its pod
   */
  async function scoreSome(
    { ask, problem }: Loaded,
    samples: readonly string[],
    mayLose: boolean,
  ): Promise<PythonScore[]> {
    if (problem !== null) return samples.map(() => ({ error: problem }))
    const scores: PythonScore[] = []
    const until = performance.now() + turnMs
    for (const sample of samples) {
      const answer = await ask(sample, sampleMs)
      if ('gone' in answer) {
        if (scores.length === 0 && !(answer.isLost && mayLose)) scores.push({ error: answer.gone })
        await sleep(pauseMs)
        break
      }
      scores.push(readAnswer(answer, 'score'))
      if (performance.now() > until || scores.length === samplesOfProcess) break
    }
    return scores
  }

  return {
    /** Null where no programs run. */
    async programsOf(accountId: string): Promise<ProgramsOfAccount | null> {
      return typeof sandbox === 'string' ? null : sandbox.programsOf(accountId)
    },

    /**
     * Loads each program in a sandbox.
     * @throws ServiceError invalid_input with the place of a program that cannot be used
     */
    async check(accountId: string, programs: readonly PlacedProgram[], signal?: AbortSignal): Promise<void> {
      for (const { grader, path } of programs)
        await withProcess(
          { accountId, grader, signal },
          (sentence) => invalidInput(path, sentence),
          ({ problem }) => {
            if (problem === null) return Promise.resolve()
            throw invalidInput(path, `The Python grader cannot be loaded: ${problem}`)
          },
        )
    },

    /**
     * A sample that ends its process costs no other one.
     * @param samples what `gradingRequest` wrote for each
     * @throws ServiceError unavailable where there is no sandbox, and the signal's reason
     */
    async score(
      accountId: string,
      { grader, samples }: { grader: PythonProgram; samples: readonly string[] },
      signal: AbortSignal,
    ): Promise<PythonScore[]> {
      const scores: PythonScore[] = []
      let mayLose = true
      while (scores.length < samples.length) {
        const left = samples.slice(scores.length)
        const some = await withProcess({ accountId, grader, signal }, away, (loaded) =>
          scoreSome(loaded, left, mayLose),
        )
        scores.push(...some)
        // A sample that was lost twice may be what ends its pods.
        mayLose = some.length > 0
      }
      return scores
    },
  }
}
