// What the answers of a grader's process mean. A grader may have written any of them itself.
import { parsedJson } from '../../domain/parsed-json.ts'
import { wroteItself, type Answer } from './grader-process.ts'

export type PythonScore = { score: number } | { error: string }

const detailBytes = 4096

export function readAnswer(answer: Answer, wanted: 'ready'): { ready: true } | { error: string }
export function readAnswer(answer: Answer, wanted: 'score'): PythonScore
export function readAnswer(answer: Answer, wanted: 'ready' | 'score') {
  if ('gone' in answer) return { error: answer.gone }
  const said = parsedJson(answer.line)
  const { ready, score, error } = (typeof said === 'object' && said !== null ? said : {}) as Record<string, unknown>
  if (wanted === 'ready' && ready === true) return { ready }
  if (wanted === 'score' && typeof score === 'number' && Number.isFinite(score)) return { score }
  return { error: typeof error === 'string' ? detail(error) : wroteItself }
}

/** Databases take no NUL and no half of a pair of UTF-16. */
const detail = (text: string) => Buffer.from(text).subarray(-detailBytes).toString().replaceAll('\0', '\u{fffd}')
