// Patterns of JSON schemas (ECMAScript regular expressions), as far as they are regular: no lookaround, no references, and
// anchors only around a whole alternative. One parser serves the grammar and the check, so both read a pattern alike.

/** Code points from and to, in ascending order. */
export type CharacterSet = readonly (readonly [number, number])[]

export type Pattern =
  | { kind: 'set'; set: CharacterSet }
  | { kind: 'sequence'; parts: Pattern[] }
  | { kind: 'choice'; parts: Pattern[] }
  | { kind: 'repeat'; part: Pattern; min: number; max: number }

/** The message completes "The pattern ...". */
export class BadPattern extends Error {}

/** NUL is left out, because databases refuse it, and so are halves of surrogate pairs, which no text may hold. */
const universe: CharacterSet = [
  [1, 0xd7ff],
  [0xe000, 0x10ffff],
]
const maxRepeats = 1000
const maxDepth = 100

export const anyCharacter: Pattern = { kind: 'set', set: universe }
const anyText: Pattern = { kind: 'repeat', part: anyCharacter, min: 0, max: Infinity }

/** @returns a pattern of whole strings: an unanchored end gets text before or after it. @throws BadPattern */
export function parsePattern(source: string): Pattern {
  return parse(Array.from(source))
}

function parse(text: readonly string[]): Pattern {
  let at = 0
  let openGroups = 0
  const peek = (word: string) => text.slice(at, at + word.length).join('') === word
  const take = (word: string) => peek(word) && ((at += word.length), true)

  function alternatives(isOutermost: boolean): Pattern {
    const parts = [alternative(isOutermost)]
    while (take('|')) parts.push(alternative(isOutermost))
    return parts.length === 1 ? (parts[0] as Pattern) : { kind: 'choice', parts }
  }

  function alternative(isOutermost: boolean): Pattern {
    const isFromStart = isOutermost && take('^')
    const parts: Pattern[] = []
    while (at < text.length && !peek('|') && !peek(')') && !peek('$')) parts.push(quantified())
    const isToEnd = isOutermost && take('$')
    if (at < text.length && !peek('|') && !(peek(')') && !isOutermost))
      throw new BadPattern(`may have ${text[at] === ')' ? 'no ) here' : '$ only at the end of a whole alternative'}.`)
    if (!isOutermost) return { kind: 'sequence', parts }
    return { kind: 'sequence', parts: [...(isFromStart ? [] : [anyText]), ...parts, ...(isToEnd ? [] : [anyText])] }
  }

  function quantified(): Pattern {
    const part = atom()
    const counts = quantifier()
    return counts ? { kind: 'repeat', part, ...counts } : part
  }

  function quantifier(): { min: number; max: number } | null {
    const counts = readCounts()
    // A lazy quantifier matches the same texts.
    if (counts) take('?')
    if (counts && peekQuantifier()) throw new BadPattern('repeats a repetition: put it in a group.')
    return counts
  }

  const peekQuantifier = () => ['*', '+', '?'].some(peek)

  function readCounts() {
    if (take('*')) return { min: 0, max: Infinity }
    if (take('+')) return { min: 1, max: Infinity }
    if (take('?')) return { min: 0, max: 1 }
    if (!peek('{')) return null
    const end = text.indexOf('}', at)
    const [whole, min, comma, max] = /^\{(\d+)(?:(,)(\d*))?\}$/.exec(text.slice(at, end + 1).join('')) ?? []
    if (whole === undefined) throw new BadPattern('has a { that no count follows: write it as \\{.')
    at = end + 1
    const counts = { min: Number(min), max: comma ? (max ? Number(max) : Infinity) : Number(min) }
    if (counts.min > counts.max || counts.min > maxRepeats || (counts.max > maxRepeats && counts.max !== Infinity))
      throw new BadPattern(`may repeat a part at most ${maxRepeats} times.`)
    return counts
  }

  function atom(): Pattern {
    if (take('(')) return group()
    if (take('[')) return { kind: 'set', set: characterClass() }
    if (take('.')) return { kind: 'set', set: notLineEnds }
    if (peek('^')) throw new BadPattern('may have ^ only at the start of a whole alternative.')
    if (peekQuantifier()) throw new BadPattern(`has a ${text[at]} that repeats nothing.`)
    return { kind: 'set', set: take('\\') ? escape() : single(next()) }
  }

  function group(): Pattern {
    if (take('?')) {
      const isPlain = take(':') || (peek('<') && !peek('<=') && !peek('<!') && skipName())
      if (!isPlain) throw new BadPattern('has a lookaround, which no grammar can hold.')
    }
    if (++openGroups > maxDepth) throw new BadPattern(`nests more than ${maxDepth} groups.`)
    const inner = alternatives(false)
    openGroups--
    if (!take(')')) throw new BadPattern('has a ( that is not closed.')
    return inner
  }

  function skipName(): true {
    while (at < text.length && next() !== '>');
    return true
  }

  function next(): string {
    const character = text[at++]
    if (character === undefined) throw new BadPattern('ends too early.')
    return character
  }

  function characterClass(): CharacterSet {
    const isNegated = take('^')
    const ranges: [number, number][] = []
    while (!take(']')) {
      const low = classAtom()
      if (!(peek('-') && text[at + 1] !== ']')) {
        ranges.push(...low.map(([from, to]): [number, number] => [from, to]))
        continue
      }
      at += 1
      const [from, to] = [onlyPoint(low), onlyPoint(classAtom())]
      if (from > to) throw new BadPattern('has a range whose end is before its start.')
      ranges.push([from, to])
    }
    const set = union(ranges)
    return isNegated ? without(set) : set
  }

  const classAtom = () => (take('\\') ? (take('b') ? single('\b') : escape()) : single(next()))

  function escape(): CharacterSet {
    const word = next()
    const known = classes[word]
    if (known) return known
    if (word in controls) return single(controls[word] as string)
    if (word === 'x') return hex(2)
    if (word === 'u') return take('{') ? hex(text.indexOf('}', at) - at, 1) : hex(4)
    if (/[\w]/.test(word)) throw new BadPattern(`has \\${word}, which is not supported.`)
    return single(word)
  }

  function hex(digits: number, closing = 0): CharacterSet {
    const word = text.slice(at, at + digits).join('')
    if (!/^[0-9a-fA-F]{2,6}$/.test(word)) throw new BadPattern('has an escape that is not a hexadecimal number.')
    at += digits + closing
    return intersect([[parseInt(word, 16), parseInt(word, 16)]], universe)
  }

  const whole = alternatives(true)
  if (at < text.length) throw new BadPattern('has a ) that nothing opens.')
  return whole
}

function onlyPoint(set: CharacterSet): number {
  const [range] = set
  if (set.length !== 1 || !range || range[0] !== range[1]) throw new BadPattern('has a range of more than characters.')
  return range[0]
}

const single = (character: string): CharacterSet => {
  const point = character.codePointAt(0) as number
  return intersect([[point, point]], universe)
}

const controls: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r', f: '\f', v: '\v' }

function union(ranges: [number, number][]): CharacterSet {
  const sorted = ranges.toSorted(([one], [other]) => one - other)
  const merged: [number, number][] = []
  for (const [from, to] of sorted) {
    const last = merged.at(-1)
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to)
    else merged.push([from, to])
  }
  return intersect(merged, universe)
}

export function intersect(one: CharacterSet, other: CharacterSet): CharacterSet {
  return one.flatMap(([from, to]) =>
    other.flatMap(([low, high]): [number, number][] => {
      const range: [number, number] = [Math.max(from, low), Math.min(to, high)]
      return range[0] <= range[1] ? [range] : []
    }),
  )
}

export function without(set: CharacterSet): CharacterSet {
  const gaps: [number, number][] = []
  let from = 0
  for (const [low, high] of set) {
    if (low > from) gaps.push([from, low - 1])
    from = high + 1
  }
  return intersect([...gaps, [from, 0x10ffff]], universe)
}

const lineEnds: CharacterSet = [
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029],
]
const notLineEnds = without(lineEnds)
const digits: CharacterSet = [[0x30, 0x39]]
const words: CharacterSet = [
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
]
const spaces: CharacterSet = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
]
const classes: Readonly<Record<string, CharacterSet>> = {
  d: digits,
  D: without(digits),
  w: words,
  W: without(words),
  s: spaces,
  S: without(spaces),
}
