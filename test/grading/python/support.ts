import assert from 'node:assert/strict'
import { root, toolPath } from '../../../tools/paths.mjs'
import { gradingRequest } from '../../../src/grading/python/request.ts'
import { createPythonGraders } from '../../../src/grading/python/python-graders.ts'
import { createSandbox } from '../../../src/grading/python/sandbox.ts'

const sandbox = createSandbox(toolPath('python'))

/** Why this machine cannot run graders; false where it can. */
export const skip = await whyNot()

function whyNot(): Promise<string | false> {
  return sandbox.use({ accountId: '', imageTag: null, signal: undefined }, (opened) =>
    Promise.resolve('refusal' in opened && `${opened.refusal} ${opened.reason}`),
  )
}

export const graders = ({ sampleMs = 60_000 } = {}) => createPythonGraders({ sandbox, sampleMs })

export const scoresOf = (source: string, samples: string[], options?: { sampleMs: number }) =>
  graders(options).score('account', { grader: { source }, samples }, new AbortController().signal)

/** Seven samples, of which the fourth attacks. */
export async function withAttack(
  { source, becomes }: { source: string; becomes: number | RegExp },
  options?: { sampleMs: number },
) {
  const samples = Array.from({ length: 7 }, (_, n) => gradingRequest({ root }, { n, secret: `secret ${n}` }))
  const scores = await scoresOf(source, samples, options)
  const [own] = scores.splice(3, 1)
  assert.deepEqual(
    scores,
    [0, 1, 2, 4, 5, 6].map((n) => ({ score: n / 10 })),
  )
  if (typeof becomes === 'number') assert.deepEqual(own, { score: becomes })
  else assert.match(own && 'error' in own ? own.error : JSON.stringify(own), becomes)
}
