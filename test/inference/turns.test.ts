import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { begin, createTaker, end, join, leave, nextOf, type Taker } from '../../src/inference/turns.ts'

type Named = Taker & { name: string }

/** Takers that always have a call waiting, and the shares of the engine's tokens that they get. */
function serve(
  takers: readonly Named[],
  rounds: number,
  tokensOf: (taker: Named) => { expected: number; counted: number },
) {
  const served = new Map<string, number>()
  for (let round = 0; round < rounds; round++) {
    const taker = nextOf(takers) ?? assert.fail('nobody waits')
    const { expected, counted } = tokensOf(taker)
    begin(taker, expected)
    join(taker, takers)
    end(taker, expected, counted)
    served.set(taker.name, (served.get(taker.name) ?? 0) + counted)
  }
  return served
}

function waiting(...names: string[]): Named[] {
  const takers = names.map((name) => ({ ...createTaker(), name }))
  for (const taker of takers) join(taker, takers)
  return takers
}

describe('turns', () => {
  it('give everybody the same tokens, however large the calls are and whatever was expected of them', () => {
    const sizes: Record<string, number> = { small: 10, middle: 300, large: 4000 }
    const served = serve(waiting('small', 'middle', 'large'), 10_000, ({ name }) => {
      const counted = sizes[name] ?? 0
      return { expected: name === 'middle' ? 1_000_000 : counted, counted }
    })
    const tokens = [...served.values()]
    assert.equal(tokens.length, 3)
    assert.ok(Math.max(...tokens) - Math.min(...tokens) <= 2 * 4000, `${tokens.join(' ')}`)
  })

  it('come first to one that was idle, which has earned nothing meanwhile', () => {
    const [busy, idle] = waiting('busy', 'idle') as [Named, Named]
    const all = [busy, idle]
    leave(idle)
    serve(all, 1000, () => ({ expected: 100, counted: 100 }))
    begin(busy, 100)
    join(busy, all)
    join(idle, all)
    assert.equal(nextOf(all), idle, 'the calls that run count against the other')
    const served = serve(all, 100, () => ({ expected: 100, counted: 100 }))
    assert.ok((served.get('busy') ?? 0) >= 49 * 100, 'it does not catch up on its idle time')
  })

  it('do not let one off its debt by a pause of a moment', () => {
    const [busy, other] = waiting('busy', 'other') as [Named, Named]
    begin(busy, 100)
    end(busy, 100, 5000)
    join(busy, [busy, other])
    assert.equal(nextOf([busy, other]), other)
  })

  it('go by the tokens that are running, too', () => {
    const [first, second] = waiting('first', 'second') as [Named, Named]
    join(first, [first, second])
    begin(first, 100)
    assert.equal(nextOf([first, second]), second)
    end(first, 100, 0)
    assert.equal(nextOf([first, second]), first, 'among equals the first')
  })

  it('are for those that wait', () => {
    const [only] = waiting('only') as [Named]
    begin(only, 1)
    assert.equal(nextOf([only]), null)
  })
})
