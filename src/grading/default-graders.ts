// Graders for a request that names none, chosen by the expected answers.
import type { Grader } from '../domain/grader.ts'
import { parsed } from './json-schema.ts'
import { lastNumber } from './text-scores.ts'
import { wordsOf } from './words.ts'

/** Answers of up to this many words are compared word by word. */
const shortWords = 12

/** The kind of most expected answers decides: JSON, numbers, short texts, or long texts. */
export function defaultGraders(expected: readonly string[]): Grader[] {
  if (isMost(expected, isJson)) return [{ type: 'json_schema' }, { type: 'exact_match' }]
  if (isMost(expected, isNumber)) return [{ type: 'numeric' }, { type: 'exact_match' }]
  if (isMost(expected, isShort)) return [{ type: 'exact_match' }, { type: 'f1' }]
  return [{ type: 'rouge_l' }, { type: 'chrf' }]
}

const isMost = (texts: readonly string[], is: (text: string) => boolean) => texts.filter(is).length * 2 > texts.length

const isJson = (text: string) => /^[[{]/.test(text.trim()) && parsed(text) !== undefined

/** A number, perhaps with a unit before or after it. */
const isNumber = (text: string) => wordsOf(text).length <= 2 && lastNumber(text) !== null

const isShort = (text: string) => wordsOf(text).length <= shortWords
