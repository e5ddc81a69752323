// Graders that are programs of users: their parameters, and the packages that they may import.
import { z } from 'zod'
import { canonicalJson, podToken, sha256Hex } from './identifiers.ts'

/** Of one request, all sources together. */
const maxSourceBytes = 262_144

/** The packages beside the standard library, by the tag that a grader may name. `runtime/graders/requirements.in` pins them. */
export const graderImages = {
  '2026-11-28': {
    jsonschema: '4.26.0',
    numpy: '2.4.6',
    pandas: '3.1.1',
    rapidfuzz: '3.14.6',
    'scikit-learn': '1.9.1',
    scipy: '1.17.1',
    sympy: '1.14.0',
  },
} as const satisfies Record<string, Record<string, string>>
const tags = Object.keys(graderImages) as ImageTag[]

export const pythonParameters = {
  source: z
    .string()
    .min(1)
    .max(maxSourceBytes)
    .describe('A Python program that defines grade(sample, item), which returns a number. It runs in a sandbox'),
  image_tag: z
    .enum(tags, { error: `must be ${tags.join(' or ')}: no other set of packages is there` })
    .describe('The packages that the program may import. Default: the newest')
    .nullish(),
}

export type ImageTag = keyof typeof graderImages
export type PythonProgram = { source: string; image_tag?: ImageTag | undefined }

/** A fault of the request where sources are too long together; null where there is none. */
export function sourcesProblem(graders: readonly object[]): string | null {
  const sources = graders.map((grader) => ('source' in grader ? String(grader.source) : ''))
  const bytes = sources.reduce((sum, source) => sum + Buffer.byteLength(source), 0)
  return bytes > maxSourceBytes ? `must have at most ${maxSourceBytes} bytes of Python source together` : null
}

export const newestTag = tags.at(-1) as ImageTag

/** No two accounts have the same pod, and no two programs. The name is a label of DNS. */
export const graderPodName = (accountId: string, { source, image_tag: imageTag = newestTag }: PythonProgram): string =>
  `python-grader-${sha256Hex(canonicalJson({ accountId, source, imageTag })).slice(0, 32)}`

/** The pod knows only its hash, so that a program cannot learn it there. */
export const graderPodToken = (secret: string, name: string): string => podToken(secret, name)

/** A pod that a program wants. */
export type GraderPod = { name: string; accountId: string; imageTag: ImageTag }
