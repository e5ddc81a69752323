import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { makeFaults } from './faults.ts'
import { makePlan, makeSlice, spread, type Instant } from './plan.ts'

const faults = makeFaults({ hasOwnDisk: true, hasClocks: true })
const countOf = (plan: readonly Instant[], fault: string) => plan.filter((instant) => instant.fault === fault).length

suite('the plan of the fault suite', () => {
  const plan = makePlan(7, faults)

  test('is the same for the same seed, and another for another', () => {
    assert.deepEqual(makePlan(7, faults), plan)
    assert.notDeepEqual(makePlan(8, faults), plan)
  })

  test('has each fault as often as wanted: kills 100 times, the others 10 times', () => {
    for (const { name, count } of faults) {
      assert.equal(countOf(plan, name), count, name)
      assert.equal(count, /^kill /.test(name) ? 100 : 10, name)
    }
  })

  test('kills each process in every state that it can be in', () => {
    for (const { name, shares } of faults.filter(({ count }) => count === 100)) {
      const states = new Set(plan.filter(({ fault }) => fault === name).map(({ state }) => state))
      assert.deepEqual(states, new Set(Object.keys(shares)), name)
      assert.equal(states.size, name === 'kill trainer' ? 4 : 6, name)
    }
  })

  test('has a bit of everything in any part of it', () => {
    const start = plan.slice(0, plan.length / 5)
    for (const { name, count } of faults) assert.ok(Math.abs(countOf(start, name) - count / 5) <= 1, name)
  })

  test('has a slice for landings: the same faults for every seed, in states that they can be injected in', () => {
    const aims = (seed: number) => makeSlice(seed).map(({ fault, state }) => [fault, state] as const)
    assert.deepEqual(aims(1), aims(2))
    for (const [name, state] of aims(1)) assert.ok(faults.find((fault) => fault.name === name)?.shares[state], name)
  })

  test('spreads by shares', () => {
    const states = spread({ QUEUED: 3, 'SAVING MODEL': 1 }, 8)
    assert.deepEqual(states.filter((state) => state === 'QUEUED').length, 6)
  })
})
