import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rougeL } from '../../src/grading/text-scores.ts'
import { createRandom } from '../inference/support/random.ts'

/** The textbook's table. */
function longest(a: readonly string[], b: readonly string[]): number {
  const table = Array.from({ length: a.length + 1 }, () => Array.from({ length: b.length + 1 }, () => 0))
  const at = (row: number, column: number) => table[row]?.[column] ?? 0
  for (let row = 1; row <= a.length; row++)
    for (let column = 1; column <= b.length; column++)
      (table[row] as number[])[column] =
        a[row - 1] === b[column - 1] ? at(row - 1, column - 1) + 1 : Math.max(at(row - 1, column), at(row, column - 1))
  return at(a.length, b.length)
}

test('ROUGE-L counts the longest common subsequence, over the ends of machine words too', () => {
  const random = createRandom(7)
  const words = (most: number, kinds: number) =>
    Array.from({ length: 1 + Math.floor(random.fraction() * most) }, () => `w${Math.floor(random.fraction() * kinds)}`)
  for (let round = 0; round < 200; round++) {
    const kinds = 1 + (round % 9)
    const [found, wanted] = [words(130, kinds), words(130, kinds)]
    const common = longest(found, wanted)
    const expected = common === 0 ? 0 : (2 * common) / (found.length + wanted.length)
    const score = rougeL(found.join(' '), wanted.join(' '))
    assert.ok(Math.abs(score - expected) < 1e-12, `round ${round}: ${score}, not ${expected}`)
  }
})
