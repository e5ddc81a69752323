// Regular expressions of ours that meet users' texts take time in proportion to the text, whatever it says.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from '../../tools/paths.mjs'

/** Where texts of users are read. The command line, settings and clusters read texts of operators. */
const files = [
  'activities/*.ts',
  'workflows/*.ts',
  'console/src/domain/**/*.ts',
  'src/{domain,datasets,grading,inference,services,repositories,storage,temporal,loops,http,internal-http}/**/*.ts',
].flatMap((pattern) => globSync(pattern, { cwd: root }))

const comment = /^\s*(?:\/\/|\/?\*).*$/gm
/** A literal stands where an expression begins. */
const literal = /(?<=(?:[=(,:?!&|[{;>]|return|^)\s*)\/(?![*/])((?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+)\/([dgimsuvy]*)/gm

/** One without repetition tries each place once. */
const repeats = /[*+]|\{\d+,\d*\}/

const patterns = files
  .flatMap((file) =>
  [...readFileSync(join(root, file), 'utf8').replace(comment, '').matchAll(literal)].map(
    ([, source = '', flags]) => [file, new RegExp(source, flags)] as const,
  ),
)
  .filter(([, { source }]) => repeats.test(source))

/** Characters that the parts of a pattern match. */
const characterOf: Record<string, string> = { s: ' ', d: '1', w: 'a', n: '\n', r: '\r', t: '\t', S: 'x', D: 'x', W: '-' }

function charactersIn(source: string): string[] {
  const plain = source
    .replace(/\\u\{?([0-9a-f]{4,6})\}?/gi, (_whole, code: string) => String.fromCodePoint(Number.parseInt(code, 16)))
    .replace(/\\([a-z])/gi, (_whole, letter: string) => characterOf[letter] ?? '')
  return [...new Set(['x', ...Array.from(plain.replaceAll('\\', ''))])].filter((each) => !'^$?*+|)'.includes(each)).slice(0, 8)
}

/** The text that a pattern begins with. */
const beginningOf = (source: string) => /^\^?((?:[\w:/" -]|\\[^a-zA-Z])*)/.exec(source)?.[1]?.replaceAll('\\', '') ?? ''

/** Makes texts that almost match, if the pattern has a place where it can try again and again. */
function textsFor({ source }: RegExp): ((length: number) => string)[] {
  const characters = charactersIn(source)
  const units = characters.flatMap((each) => [each, ...characters.filter((other) => other !== each).map((other) => each + other)])
  return [...new Set(['', beginningOf(source)])].flatMap((beginning) =>
    units.flatMap((unit) =>
      ['', '\0'].map((end) => (length: number) => beginning + unit.repeat(length / unit.length) + end),
    ),
  )
}

/** In milliseconds of this process, which other programs do not prolong: the best of a few tries. */
function timeOf(pattern: RegExp, text: string): number {
  let best = Infinity
  for (let tries = 0; tries < 5; tries++) {
    const before = process.cpuUsage()
    if (pattern.global) text.replace(pattern, '')
    else pattern.exec(text)
    pattern.lastIndex = 0
    const { user, system } = process.cpuUsage(before)
    best = Math.min(best, (user + system) / 1000)
    if (best <= floorMs || best > farTooMuchMs) break
  }
  return best
}

/** A linear pattern takes some hundredths of this. */
const floorMs = 4
const farTooMuchMs = 40
/** Short texts first: a pattern whose time doubles with each character would never end on a long one. */
const lengths = [25, 150, 1500, 6000]

/** @returns the beginning of a text on which the time grows faster than the length */
function hostileText(pattern: RegExp): string | null {
  const makers = textsFor(pattern)
  const found = makers.find((textOf) => {
    let before = Infinity
    return lengths.some((length) => {
      const timeMs = timeOf(pattern, textOf(length))
      const isBad = timeMs > farTooMuchMs || (timeMs > floorMs && timeMs > 8 * before)
      before = timeMs
      return isBad
    })
  })
  return found ? found(40) : null
}

test('finds patterns that take more than linear time', () => {
  assert.ok(patterns.length > 50, `only ${patterns.length} patterns were found`)
  for (const bad of [/\{\{\s*([^{}]*?)\s*\}\}/g, /\/+$/, /^(\w+\s?)*$/, /^(?:a|a)*$/, /x.*y/g])
    assert.notEqual(hostileText(bad), null, String(bad))
})

for (const [file, pattern] of patterns)
  test(`${file}: ${String(pattern)} takes linear time`, () => {
    const text = hostileText(pattern)
    assert.equal(text, null, `Its time grows faster than the text: ${JSON.stringify(text)} and so on`)
  })
