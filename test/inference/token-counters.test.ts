import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  begin,
  createCounter,
  end,
  join,
  leave,
  nextOf,
  type TokenCounter,
} from '../../src/inference/token-counters.ts'

type Named = TokenCounter & { name: string }

/** Counters that always have a call waiting, and the shares of the engine's tokens that they get. */
function serve(
  counters: readonly Named[],
  rounds: number,
  tokensOf: (counter: Named) => { expected: number; counted: number },
) {
  const served = new Map<string, number>()
  for (let round = 0; round < rounds; round++) {
    const counter = nextOf(counters) ?? assert.fail('nobody waits')
    const { expected, counted } = tokensOf(counter)
    begin(counter, expected)
    join(counter, counters)
    end(counter, expected, counted)
    served.set(counter.name, (served.get(counter.name) ?? 0) + counted)
  }
  return served
}

function waiting(...names: string[]): Named[] {
  const counters = names.map((name) => ({ ...createCounter(), name }))
  for (const counter of counters) join(counter, counters)
  return counters
}

describe('turns', () => {
  it('give every account the same tokens, for calls of any size and any estimate', () => {
    const sizes: Record<string, number> = { small: 10, middle: 300, large: 4000 }
    const served = serve(waiting('small', 'middle', 'large'), 10_000, ({ name }) => {
      const counted = sizes[name] ?? 0
      return { expected: name === 'middle' ? 1_000_000 : counted, counted }
    })
    const tokens = [...served.values()]
    assert.equal(tokens.length, 3)
    assert.ok(Math.max(...tokens) - Math.min(...tokens) <= 2 * 4000, `${tokens.join(' ')}`)
  })

  it('come first to an account that was idle, which has earned nothing meanwhile', () => {
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

  it('keep the debt of an account over a pause of a moment', () => {
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
