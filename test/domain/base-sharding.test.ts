import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resolveSharding, sharesOfBase } from '../../src/domain/base-sharding.ts'
import { documentedDefaults, type TrainingArgs } from '../../src/domain/training-args.ts'
import type { TrainingMethod } from '../../src/domain/training-method.ts'

const argsWith = (more: Partial<TrainingArgs>): TrainingArgs => ({ ...documentedDefaults, ...more })
const sampled = { type: 'reinforcement', hyperparameters: {} } as unknown as TrainingMethod
const cards = { gpuCount: 4, weightsGib: 15, gpuMemoryGib: 24 }

test('shares a base that would fill half of a GPU, and no smaller one', () => {
  assert.equal(sharesOfBase({ args: argsWith({}), method: null }, cards), 4)
  assert.equal(sharesOfBase({ args: argsWith({}), method: null }, { ...cards, weightsGib: 11 }), 1)
  assert.equal(sharesOfBase({ args: argsWith({}), method: null }, { ...cards, gpuMemoryGib: null }), 1)
  assert.equal(sharesOfBase({ args: argsWith({ shard_base: true }), method: null }, { ...cards, weightsGib: 1 }), 4)
  assert.equal(sharesOfBase({ args: argsWith({ shard_base: false }), method: null }, cards), 1)
  assert.equal(sharesOfBase({ args: argsWith({}), method: sampled }, cards), 1)
})

test('refuses to share a base in 4 bits, and one that is sampled from, unless the model recommends it', () => {
  for (const [asked, sentence] of [
    [{ args: argsWith({ shard_base: true, load_in_4bit: true }), method: null }, /a base in 4 bits stays whole/],
    [{ args: argsWith({ shard_base: true }), method: sampled }, /reinforcement samples from a whole base/],
  ] as const) {
    assert.throws(() => resolveSharding(asked, ['shard_base']), sentence)
    resolveSharding(asked, [])
    assert.equal(asked.args.shard_base, undefined)
  }
})
