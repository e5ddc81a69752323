import assert from 'node:assert/strict'
import { test } from 'node:test'
import { modelSlug, parseCatalogue } from '../../src/domain/catalogue.ts'
import {
  canonicalJson,
  makeApiKey,
  modelServerRunName,
  parseApiKey,
  podToken,
  sameHash,
  tunedModelName,
} from '../../src/domain/identifiers.ts'
import { isRunName } from '../../src/compute/run-name.ts'
import { wireTime } from '../../src/domain/timestamps.ts'

test('equal values have equal canonical text in any order of their keys', () => {
  assert.equal(
    canonicalJson({ b: [1, { d: null, c: 'x' }], a: undefined }),
    canonicalJson({ b: [1, { c: 'x', d: null }] }),
  )
})

test('a key parses to its id and a hash that only its own secret has', () => {
  const [one, other] = [parseApiKey(makeApiKey()), parseApiKey(makeApiKey())]
  assert.ok(one && other && !sameHash(one.secretHash, other.secretHash))
  assert.equal(parseApiKey('ank_short'), undefined)
})

test('each launch of a model server has its own name, a DNS label however long the model’s', () => {
  assert.equal(modelServerRunName('anneal-tiny', 3), 'model-server-anneal-tiny-g3')
  const long = ['x', 'y'].map((end) => `a-model-with-a-name-that-takes-up-all-the-room-there${end}`.slice(-50))
  const names = long.flatMap((model) => [9, 10, 1_000_000].map((generation) => modelServerRunName(model, generation)))
  assert.equal(new Set(names).size, 6)
  assert.deepEqual(names.filter(isRunName), names)
})

test('a tuned model’s name depends on its job and its bytes', () => {
  const files = [{ name: 'adapter_model.safetensors', sha256: 'aa' }]
  assert.match(tunedModelName(1, files), /^[0-9a-f]{64}$/)
  assert.notEqual(tunedModelName(1, files), tunedModelName(2, files))
  assert.notEqual(tunedModelName(1, files), tunedModelName(1, [{ name: 'adapter_model.safetensors', sha256: 'ab' }]))
})

test('a pod’s token is the same for a launch tried again, and another for everything else', () => {
  assert.equal(podToken('secret', 'attempt/1'), podToken('secret', 'attempt/1'))
  assert.notEqual(podToken('secret', 'attempt/1'), podToken('secret', 'attempt/2'))
  assert.notEqual(podToken('secret', 'attempt/1'), podToken('other', 'attempt/1'))
})

test('times are UTC without a zone, with six fraction digits', () => {
  assert.equal(wireTime(new Date(Date.UTC(2026, 10, 20, 10, 0, 0, 123))), '2026-11-20T10:00:00.123000')
})

test('the catalogue refuses a name used twice, two names with one slug, and a missing task', () => {
  const model = { name: 'a', task: 'completion', engine: 'transformers', source: { path: 'x' }, contextLength: 64 }
  const embedder = { ...model, name: 'e', task: 'embedding' }
  assert.equal(parseCatalogue({ models: [model, embedder] }).defaultEmbeddingModel.name, 'e')
  assert.throws(() => parseCatalogue({ models: [model, { ...embedder, aliases: ['a'] }] }), /names a twice/)
  assert.throws(() => parseCatalogue({ models: [model, { ...embedder, name: 'A' }] }), /differ only in case/)
  assert.throws(() => parseCatalogue({ models: [model] }), /task "embedding"/)
  assert.equal(modelSlug('Qwen/Qwen2.5-0.5B'), 'qwen-qwen2-5-0-5b')
})
