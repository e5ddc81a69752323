// Regular expressions of users. RE2 matches in time that grows with pattern times text, so no pattern can hang the process.
import { RE2JS } from 're2js'

/** With the bound on the text, the slowest pattern takes a few seconds. */
const maxInstructions = 2000
/** Compiling a long pattern takes long, before its instructions can be counted. */
const maxCharacters = 1000
/** Characters of a text that are searched. */
const searchedCharacters = 32_768

/** @throws Error that says what is wrong with the pattern */
export function linearPattern(pattern: string, { ignoresCase = false } = {}): (text: string) => boolean {
  if (pattern.length > maxCharacters) throw new Error(`the pattern is longer than ${maxCharacters} characters`)
  const compiled = RE2JS.compile(pattern, ignoresCase ? RE2JS.CASE_INSENSITIVE : 0)
  if (compiled.programSize() > maxInstructions)
    throw new Error('the pattern is too large: shorten it, or lower its counts of repetition')
  return (text) => compiled.matcher(text.slice(0, searchedCharacters)).find()
}
