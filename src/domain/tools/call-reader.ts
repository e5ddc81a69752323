// Reads the calls out of an answer while it grows. The grammar of the answer has made sure of the form.
import type { CallFormat } from './call-format.ts'

export type AnswerPart =
  { kind: 'text'; text: string } | { kind: 'call'; name: string } | { kind: 'arguments'; text: string }

export type ReadCall = { name: string; arguments: string }

/** @returns a function that takes the next piece and gives the parts that are certain; `end` gives what was held back */
export function createCallReader(format: CallFormat) {
  const head = new RegExp(`^\\{"name": "([\\w-]+)", "${format.argumentsKey}": `)
  let state: 'text' | 'head' | 'arguments' | 'between' = 'text'
  let waiting = ''
  let hasText = false
  let json = createJsonScanner()

  function next(): AnswerPart[] | null {
    if (state === 'text') return readText()
    if (state === 'head') return readHead()
    if (state === 'arguments') return readArguments()
    return readBetween()
  }

  function readText(): AnswerPart[] | null {
    const found = format.follows || !hasText ? waiting.indexOf(format.trigger) : -1
    if (found === 0 || (found > 0 && format.follows)) {
      const text = waiting.slice(0, found)
      // What stands before the first name: the opening, and what is before a call.
      waiting = waiting.slice(found)
      state = 'head'
      return text === '' ? [] : [{ kind: 'text', text }]
    }
    const held = format.follows || !hasText ? lengthOfBeginning(waiting, format.trigger) : 0
    const text = waiting.slice(0, waiting.length - held)
    if (text === '') return null
    waiting = waiting.slice(text.length)
    hasText = true
    return [{ kind: 'text', text }]
  }

  function readHead(): AnswerPart[] | null {
    const start = waiting.indexOf('{"name"')
    const [whole, name] = start < 0 ? [] : (head.exec(waiting.slice(start)) ?? [])
    if (whole === undefined || name === undefined) return null
    waiting = waiting.slice(start + whole.length)
    state = 'arguments'
    json = createJsonScanner()
    return [{ kind: 'call', name }]
  }

  function readArguments(): AnswerPart[] | null {
    const length = json.read(waiting)
    const text = waiting.slice(0, length)
    waiting = waiting.slice(length)
    if (json.isEnded()) state = 'between'
    return text === '' && state === 'arguments' ? null : [{ kind: 'arguments', text }]
  }

  function readBetween(): AnswerPart[] | null {
    if (!waiting.includes('{"name"')) return null
    state = 'head'
    return []
  }

  return {
    read(piece: string): AnswerPart[] {
      waiting += piece
      const parts: AnswerPart[] = []
      for (let found = next(); found; found = next()) parts.push(...found)
      return parts
    },
    end: (): AnswerPart[] => (state === 'text' && waiting !== '' ? [{ kind: 'text', text: waiting }] : []),
  }
}

/** @returns the text before the calls, and the calls; the last call may be unfinished if the answer is */
export function readCalls(format: CallFormat, answer: string): { text: string; calls: ReadCall[] } {
  const reader = createCallReader(format)
  const read: { text: string; calls: ReadCall[] } = { text: '', calls: [] }
  for (const part of [...reader.read(answer), ...reader.end()]) {
    const last = read.calls.at(-1)
    if (part.kind === 'text') read.text += part.text
    else if (part.kind === 'call') read.calls.push({ name: part.name, arguments: '' })
    else if (last) last.arguments += part.text
  }
  return read
}

/** How many characters at the end of the text may begin the word. */
function lengthOfBeginning(text: string, word: string): number {
  for (let length = Math.min(text.length, word.length - 1); length > 0; length--)
    if (text.endsWith(word.slice(0, length))) return length
  return 0
}

/** Finds the end of a JSON object. */
function createJsonScanner() {
  let [depth, isInString, isEscaped, hasEnded] = [0, false, false, false]
  function take(character: string) {
    if (isInString) {
      if (isEscaped) isEscaped = false
      else if (character === '\\') isEscaped = true
      else if (character === '"') isInString = false
      return
    }
    if (character === '"') isInString = true
    else if (character === '{' || character === '[') depth += 1
    else if (character === '}' || character === ']') hasEnded = --depth === 0
  }
  return {
    isEnded: () => hasEnded,
    /** @returns how much of the text belongs to the object */
    read(text: string): number {
      let length = 0
      while (length < text.length && !hasEnded) take(text[length++] as string)
      return length
    },
  }
}
