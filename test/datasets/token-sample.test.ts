import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { DatasetRow } from '../../src/datasets/dataset-row.ts'
import { createTokenSample } from '../../src/datasets/token-sample.ts'
import { root } from '../../tools/paths.mjs'

const tiny = { name: 'anneal-tiny', folder: `${root}/models/anneal-tiny` }

test('the sample is bounded, spread over all rows, and says its size', () => {
  const sample = createTokenSample()
  for (let row = 0; row < 50_000; row++) sample.add({ input: 'x', output: row < 25_000 ? 'a' : 'a b c' })
  sample.add({ input: '', output: 'z'.repeat(200_001) })
  const measured = sample.measure(tiny, 50_000) ?? assert.fail('nothing measured')
  const { tokenizer, sampledRows, input, output, estimatedTotal, histogram } = measured
  assert.equal(tokenizer, 'anneal-tiny')
  assert.ok(sampledRows > 500 && sampledRows <= 1000)
  assert.equal(input.max, 1)
  // Half of the rows have two tokens, the others four or five.
  assert.ok(estimatedTotal > 140_000 && estimatedTotal < 190_000, String(estimatedTotal))
  assert.ok(output.p50 < output.p90)
  const counts = histogram.filter(({ rows }) => rows > 0)
  assert.equal(
    counts.reduce((sum, { rows }) => sum + rows, 0),
    sampledRows,
  )
  assert.deepEqual([counts[0]?.upTo, counts.at(-1)?.upTo], [2, input.max + output.max])
})

test('each answer of a row is learned with an end token of its own', () => {
  const learnedOf = (row: DatasetRow) => {
    const sample = createTokenSample()
    sample.add(row)
    return sample.measure(tiny, 10)?.estimatedLearned
  }
  const message = (role: 'user' | 'assistant', content: string) => ({ role, content })
  const messages = [message('user', 'x'), message('assistant', 'a'), message('user', 'y'), message('assistant', 'b')]
  const conversation = { messages, learned: [1, 3] }
  const list = ['a', 'b'].map((said, at) => ({ said, isGood: at === 0 }))
  assert.deepEqual(learnedOf({ input: 'x', output: 'a' }), { answers: 20, lastAnswer: 20 })
  assert.deepEqual(learnedOf({ input: 'x', output: 'b', conversation }), { answers: 40, lastAnswer: 20 })
  assert.equal(learnedOf({ input: 'x', output: 'a', answers: { areCompared: true, list } })?.answers, 40)
  assert.deepEqual(learnedOf({ input: 'x', output: '', item: {} }), { answers: 0, lastAnswer: 0 })
})

test('a prompt that has two answers to compare is read twice', () => {
  const sample = createTokenSample()
  const list = ['a', 'b'].map((said, at) => ({ said, isGood: at === 0 }))
  sample.add({ input: 'x', output: 'a', answers: { areCompared: true, list } })
  assert.equal(sample.measure(tiny, 10)?.estimatedTotal, 40)
})

test('without a tokenizer, or rows, there is nothing to say', () => {
  const sample = createTokenSample()
  assert.equal(sample.measure(tiny, 10), null)
  sample.add({ input: 'a', output: 'b' })
  assert.equal(sample.measure(null, 10), null)
  assert.equal(sample.measure({ name: 'none', folder: `${root}/none` }, 10), null)
})

test('a tokenizer that was replaced counts from then on', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'anneal-tokenizer-'))
  t.after(() => rmSync(folder, { recursive: true }))
  cpSync(tiny.folder, folder, { recursive: true })
  const path = join(folder, 'tokenizer.json')
  const length = () => {
    const sample = createTokenSample()
    sample.add({ input: '', output: 'the the the' })
    return sample.measure({ name: 'ours', folder }, 1)?.output.max
  }
  assert.equal(length(), 4)
  const tokenizer = JSON.parse(readFileSync(path, 'utf8')) as { model: { merges: unknown[] } }
  writeFileSync(path, JSON.stringify({ ...tokenizer, model: { ...tokenizer.model, merges: [] } }))
  utimesSync(path, new Date(), new Date(Date.now() + 1000))
  assert.equal(length(), 11)
})
