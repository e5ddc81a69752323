// Runs in a thread: scores answers by the graders that are functions.
import { parentPort } from 'node:worker_threads'
import type { Grader } from '../domain/grader.ts'
import { compileGraders, type Graded } from './compile-graders.ts'

export type GradingTask = { graders: Grader[]; graded: Graded[] }

/** By grader, in the order of the task: the score of each answer. */
export type GradingAnswer = (number | null)[][]

parentPort?.on('message', ({ graders, graded }: GradingTask) => {
  const answer: GradingAnswer = compileGraders(graders).map((compiled) =>
    graded.map((each) => ('score' in compiled ? compiled.score(each) : null)),
  )
  parentPort?.postMessage(answer)
})
