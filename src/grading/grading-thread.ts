// Runs in a thread: the work on graders, templates and answers of users. `grading-threads.ts` asks.
import { parentPort } from 'node:worker_threads'
import type { Grader } from '../domain/grader.ts'
import { ServiceError, type InputIssue } from '../domain/service-error.ts'
import { compileGraders, type Graded } from './compile-graders.ts'
import { defaultGraders } from './default-graders.ts'
import { chatLines, fillChunk } from './fill-templates.ts'
import { layOutItems } from './run-items.ts'

export type GradingTask = { graders: readonly Grader[]; graded: readonly Graded[] }

/** By grader, in the order of the task: the score of each answer. */
export type GradingAnswer = (number | null)[][]

const works = { compile, score, defaultGraders, layOutItems, chatLines, fillChunk }
type Works = typeof works
export type Work = keyof Works
export type InputOf<W extends Work> = Parameters<Works[W]>[0]
export type ResultOf<W extends Work> = ReturnType<Works[W]>
export type Question<W extends Work = Work> = { work: W; input: InputOf<W> }
/** `refusal`: of an invalid_input. An error would end the thread. */
export type ThreadAnswer = { result: unknown } | { refusal: { message: string; issues: InputIssue[] } }

parentPort?.on('message', ({ work, input }: Question) => parentPort?.postMessage(answer(work, input)))

function answer(work: Work, input: unknown): ThreadAnswer {
  try {
    return { result: (works[work] as (input: unknown) => unknown)(input) }
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'invalid_input') throw error
    return { refusal: { message: error.message, issues: error.issues } }
  }
}

/** @throws ServiceError invalid_input that names the grader by `path` */
function compile({ grader, path }: { grader: Grader; path: string }): null {
  compileGraders([grader], () => path)
  return null
}

/** The graders that were compiled last: an evaluation scores one chunk after the other. */
let last = { key: '', compiled: compileGraders([]) }

function score({ graders, graded }: GradingTask): GradingAnswer {
  const key = JSON.stringify(graders)
  if (key !== last.key) last = { key, compiled: compileGraders(graders) }
  return last.compiled.map((scoreOf) => graded.map((each) => scoreOf?.(each) ?? null))
}
