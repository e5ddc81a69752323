import { root, toolPath } from '../../../tools/paths.mjs'
import { createPythonGraders } from '../../../src/grading/python/python-graders.ts'
import { costsItsOwnSample } from './attack.ts'
import type { Attack } from './hostile-graders.ts'
import { createSandbox } from '../../../src/grading/python/sandbox.ts'

const sandbox = createSandbox(toolPath('python'))

/** Why this machine cannot run graders; false where it can. */
export const skip = await whyNot()

function whyNot(): Promise<string | false> {
  return sandbox.use({ accountId: '', grader: { source: '' }, signal: undefined }, (opened) =>
    Promise.resolve('refusal' in opened && `${opened.refusal} ${opened.reason}`),
  )
}

export const graders = ({ sampleMs = 60_000 } = {}) => createPythonGraders({ sandbox, sampleMs })

export const scoresOf = (source: string, samples: string[], options?: { sampleMs: number }) =>
  graders(options).score('account', { grader: { source }, samples }, new AbortController().signal)

/** What neither the service nor its machine shows to a grader. */
const forbidden = ['/etc/passwd', '/etc/hostname', '/work', '/home', '/var', '/sys', '/proc', '/usr/bin/env', root]

export const withAttack = (attack: Attack, options?: { sampleMs: number }) =>
  costsItsOwnSample({ ...attack, forbidden }, (source, samples) => scoresOf(source, samples, options))
