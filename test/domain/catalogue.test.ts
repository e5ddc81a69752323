import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCatalogue } from '../../src/domain/catalogue.ts'

const completion = {
  name: 'chat',
  task: 'completion',
  engine: 'transformers',
  source: { path: 'a' },
  contextLength: 64,
}
const embedding = { name: 'mini', task: 'embedding', engine: 'embedder', source: { package: 'm' }, contextLength: 64 }
const parse = (changes: object) => parseCatalogue({ models: [{ ...completion, ...changes }, embedding] })
const gguf = { engine: 'llama.cpp', source: { path: 'chat.gguf' } }

test('the engine llama.cpp takes models in GGUF, on a CPU, in the numbers of their file', () => {
  assert.equal(parse(gguf).defaultCompletionModel.engine, 'llama.cpp')
  const inPackage = { package: 'chat', version: '1', gguf: 'chat.gguf', sha256: '0'.repeat(64) }
  assert.equal(parse({ ...gguf, source: inPackage }).defaultCompletionModel.engine, 'llama.cpp')
  for (const [changes, says] of [
    [{ source: { path: 'chat' } }, /needs a completion model in GGUF/],
    [{ task: 'embedding' }, /needs a completion model in GGUF/],
    [{ dtype: 'bfloat16' }, /leave dtype out/],
    [{ resources: { gpuCount: 1 } }, /a GPU/],
    [{ maxBatch: 161 }, /160 is the most/],
  ] as const)
    assert.throws(() => parse({ ...gguf, ...changes }), says)
})

test('8-bit weights are for our own engine on a CPU', () => {
  assert.equal(parse({ dtype: 'int8' }).defaultCompletionModel.dtype, 'int8')
  for (const changes of [{ engine: 'vllm' }, { resources: { gpuCount: 1 } }])
    assert.throws(() => parse({ dtype: 'int8', ...changes }), /dtype int8/)
})

test('arguments of single methods are kept apart from those of all, and checked', () => {
  const { defaultCompletionModel } = parse({
    recommendedArgs: { r_value: 8, methods: { dpo: { learning_rate: 0.0005, batch_size: 4 } } },
  })
  assert.deepEqual(defaultCompletionModel.recommendedArgs, { r_value: 8 })
  assert.deepEqual(defaultCompletionModel.recommendedOfMethods, { dpo: { learning_rate: 0.0005, batch_size: 4 } })
  for (const [methods, says] of [
    [{ ppo: {} }, /ppo/],
    [{ dpo: { learning_rat: 1 } }, /learning_rat/],
    [{ dpo: { r_value: 128 } }, /r_value 128/],
  ] as const)
    assert.throws(() => parse({ recommendedArgs: { methods } }), says)
})
