import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { EngineLost } from '../../src/inference/engine-client.ts'
import { createReplicas, type ReadyReplica } from '../../src/inference/replicas.ts'

const never = new AbortController().signal
const replica = (at: number, more: Partial<ReadyReplica> = {}): ReadyReplica => ({
  baseModel: 'tiny',
  generation: 1,
  instance: `pod-${at}`,
  url: `http://10.0.0.${at}:8000`,
  token: 'token',
  seenAtMs: 0,
  isReporting: true,
  ...more,
})
const three = [replica(1), replica(2), replica(3)]
const names = Array.from({ length: 300 }, (_, at) => `adapter-${at}`)

describe('the replica of a call', () => {
  it('has the least work under way', () => {
    const replicas = createReplicas()
    const taken = Array.from({ length: 6 }, () => {
      const chosen = replicas.choose(three, null, 0)
      replicas.use(chosen, { rows: 64, signal: never })
      return chosen.instance
    })
    assert.deepEqual(taken.toSorted(), ['pod-1', 'pod-1', 'pod-2', 'pod-2', 'pod-3', 'pod-3'])
    const light = replicas.choose(three, null, 0)
    replicas.use(light, { rows: 1, signal: never })
    assert.notEqual(replicas.choose(three, null, 0), light)
  })

  it('is for an adapter the same each time, evenly over adapters, until it is far ahead of the others', () => {
    const replicas = createReplicas()
    const first = new Map(names.map((name) => [name, replicas.choose(three, name, 128).instance]))
    for (const name of names) assert.equal(replicas.choose(three.toReversed(), name, 128).instance, first.get(name))
    const shares = Map.groupBy(first.values(), (instance) => instance)
    for (const instance of ['pod-1', 'pod-2', 'pod-3']) assert.ok((shares.get(instance)?.length ?? 0) > 60)

    const [name] = names as [string]
    const favourite = replicas.choose(three, name, 128)
    replicas.use(favourite, { rows: 128, signal: never })
    assert.equal(replicas.choose(three, name, 128), favourite)
    replicas.use(favourite, { rows: 1, signal: never })
    assert.notEqual(replicas.choose(three, name, 128), favourite)
  })

  it('changes only for the adapters of a replica that goes', () => {
    const replicas = createReplicas()
    const two = three.slice(0, 2)
    for (const name of names) {
      const before = replicas.choose(three, name, 0)
      if (before !== three[2]) assert.equal(replicas.choose(two, name, 0), before)
    }
  })

  it('is no lost replica, until it has reported again or some time has passed', () => {
    let nowMs = 0
    const replicas = createReplicas(() => nowMs)
    const [first, second] = three as [ReadyReplica, ReadyReplica]
    const both = [first, second]
    assert.equal(replicas.lose(first, both), true)
    for (let count = 0; count < 20; count++) assert.equal(replicas.choose(both, null, 0), second)
    const reported = { ...first, seenAtMs: 5 }
    const chosen = Array.from({ length: 50 }, () => replicas.choose([reported, second], null, 0))
    assert.ok(chosen.includes(reported))
    assert.equal(replicas.lose(second, both), false, 'nobody is left')
    assert.ok(both.includes(replicas.choose(both, null, 0)), 'then any is worth a try')
    nowMs = 10_000
    assert.ok(Array.from({ length: 50 }, () => replicas.choose(both, null, 0)).includes(first))
  })

  it('is no silent replica, unless there is no other', () => {
    const replicas = createReplicas()
    const silent = replica(1, { isReporting: false })
    for (let count = 0; count < 20; count++)
      assert.equal(replicas.choose([silent, replica(2)], null, 0).instance, 'pod-2')
    assert.equal(replicas.choose([silent], null, 0), silent)
  })
})

describe('the time of a replica', () => {
  it('is shared out by rows among the calls that it works on', () => {
    let nowMs = 0
    const replicas = createReplicas(() => nowMs)
    const one = replica(1)
    const seconds: Record<string, number> = {}
    const call = (name: string, rows: number) => {
      const onSeconds = (share: number) => (seconds[name] = Number(share.toFixed(6)))
      const use = replicas.use(one, { rows, signal: never, onSeconds })
      return (atMs: number) => {
        nowMs = atMs
        use[Symbol.dispose]()
      }
    }
    const endLarge = call('large', 3)
    nowMs = 4000
    const endSmall = call('small', 1)
    endSmall(8000)
    endLarge(10_000)
    assert.deepEqual([seconds['small'], seconds['large']], [1, 9])
    nowMs = 20_000
    call('later', 2)(21_000)
    assert.equal(seconds['later'], 1)
  })
})

describe('a call on a replica that falls silent', () => {
  it('is given up once another replica reports, and not before', () => {
    let nowMs = 0
    const replicas = createReplicas(() => nowMs)
    const silent = replica(1, { isReporting: false })
    const { signal } = replicas.use(silent, { rows: 1, signal: never })
    const look = (atMs: number, rows: ReadyReplica[]) => {
      nowMs = atMs
      replicas.giveUpSilent('tiny', rows)
      return signal.aborted
    }
    assert.equal(look(0, [silent]), false)
    assert.equal(look(60_000, [silent]), false, 'a slow one is better than none')
    assert.equal(look(60_001, [silent, replica(2)]), false)
    assert.equal(look(70_000, [replica(1), replica(2)]), false, 'it reports again')
    assert.equal(look(80_000, [silent, replica(2)]), false)
    assert.equal(look(95_000, [replica(2)]), true)
    assert.ok(signal.reason instanceof EngineLost)
  })
})
