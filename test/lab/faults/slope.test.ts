import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { createRandom } from '../../inference/support/random.ts'
import { slopeOf } from './slope.ts'

const points = (count: number, y: (x: number) => number, life: (x: number) => number = () => 0) =>
  Array.from({ length: count }, (_, x) => ({ x, y: y(x), life: life(x) }))

suite('the slope of samples', () => {
  test('is that of a line, without an error', () => {
    const found = slopeOf(points(10, (x) => 3 * x + 2))
    assert.ok(found)
    assert.ok(Math.abs(found.slope - 3) < 1e-9 && found.error < 1e-9)
  })

  test('has an interval around zero for noise, 19 times of 20', () => {
    const random = createRandom(7)
    const found = Array.from({ length: 400 }, () => slopeOf(points(60, () => 100 + random.fraction())))
    const within = found.filter((each) => each && Math.abs(each.slope) <= each.error).length
    assert.ok(within > 360 && within < 396, `${within} of 400`)
  })

  test('is not that of a process which is ended and begins small again, but of each of its lives', () => {
    const sawTooth = points(
      40,
      (x) => 50 + (x % 10),
      (x) => Math.floor(x / 10),
    )
    assert.ok(Math.abs((slopeOf(sawTooth)?.slope ?? 0) - 1) < 1e-9)
  })

  test('is unknown from two points', () => {
    assert.equal(slopeOf(points(2, (x) => x)), null)
  })
})
