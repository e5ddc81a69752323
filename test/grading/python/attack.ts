import assert from 'node:assert/strict'
import type { PythonScore } from '../../../src/grading/python/answers.ts'
import { gradingRequest } from '../../../src/grading/python/request.ts'
import type { Attack } from './hostile-graders.ts'

type Tried = Attack & { /** Paths that the grader must not read. */ forbidden: readonly string[] }

/** Seven samples, of which the fourth attacks. */
export async function costsItsOwnSample(
  { source, becomes, forbidden }: Tried,
  scoresOf: (source: string, samples: string[]) => Promise<PythonScore[]>,
) {
  const samples = Array.from({ length: 7 }, (_, n) => gradingRequest({ forbidden }, { n, secret: `secret ${n}` }))
  const scores = await scoresOf(source, samples)
  const [own] = scores.splice(3, 1)
  assert.deepEqual(
    scores,
    [0, 1, 2, 4, 5, 6].map((n) => ({ score: n / 10 })),
  )
  if (typeof becomes === 'number') assert.deepEqual(own, { score: becomes })
  else assert.match(own && 'error' in own ? own.error : JSON.stringify(own), becomes)
}
