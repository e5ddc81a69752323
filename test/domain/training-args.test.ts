import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  documentedDefaults,
  FinetuneArgs,
  laterDefaults,
  resolveTrainingArgs,
  TrainingArgs,
} from '../../src/domain/training-args.ts'

const entry = {
  name: 'tiny',
  contextLength: 1024,
  maxRank: 64,
  recommendedArgs: { learning_rate: 0.002, batch_size: 20 },
}
const resolve = (requested: unknown, from = entry) => resolveTrainingArgs(FinetuneArgs.parse(requested), from)

test('a silent request gets the documented defaults below the catalogue’s recommendations', () => {
  const { args, notes } = resolve({})
  assert.equal(args.max_steps, 100)
  assert.equal(args.save_steps, 60)
  assert.equal(args.learning_rate, 0.002)
  assert.equal(args.batch_size, 20)
  assert.deepEqual(notes, [])
})

test('a value in the request wins; null counts as absent; unknown keys are ignored', () => {
  const { args } = resolve({ learning_rate: 9e-4, batch_size: null, index_pq_m: 8 })
  assert.equal(args.learning_rate, 9e-4)
  assert.equal(args.batch_size, 20)
  assert.ok(!('index_pq_m' in args))
})

test('lora_alpha follows r_value unless it is given', () => {
  assert.equal(resolve({ r_value: 16 }).args.lora_alpha, 16)
  assert.equal(resolve({ r_value: 16, lora_alpha: 32 }).args.lora_alpha, 32)
})

test('a rank above that of the model is refused, naming the limit; a silent request stays below it', () => {
  assert.equal(resolve({ r_value: 64 }).args.r_value, 64)
  assert.throws(() => resolve({ r_value: 65 }), {
    code: 'invalid_input',
    message: /r_value must be at most 64 for tiny/,
  })
  const { args } = resolve({}, { ...entry, maxRank: 16 })
  assert.deepEqual([args.r_value, args.lora_alpha], [16, 16])
})

test('a max_length beyond the context is cut, and said when it was asked for', () => {
  assert.equal(resolve({}).args.max_length, 1024)
  const { args, notes } = resolve({ max_length: 4096 })
  assert.equal(args.max_length, 1024)
  assert.deepEqual(
    notes.map(({ code }) => code),
    ['max_length_cut'],
  )
})

test('known keys are validated', () => {
  for (const bad of [
    { max_steps: 0 },
    { max_steps: 1.5 },
    { max_steps: '10' },
    { learning_rate: -1 },
    { lora_dropout: 1 },
    { eval_steps: 0 },
    { keep: 'first' },
    { early_stopping: {} },
    { early_stopping: { patience: 0 } },
    { early_stopping: { patience: 3, min_delta: -1 } },
    { warmup_ratio: 1.1 },
    { use_rslora: 1 },
    { gradient_checkpointing: 'always' },
    { overlong: 'keep' },
    { finetuning_type: 'freeze' },
  ])
    assert.ok(!FinetuneArgs.safeParse(bad).success, JSON.stringify(bad))
})

test('a patience alone is enough to stop early', () => {
  const { eval_steps, keep, early_stopping } = resolve({ early_stopping: { patience: 3 } }).args
  assert.deepEqual([eval_steps, keep, early_stopping], [null, 'last', { patience: 3, min_delta: 0 }])
})

test('a request without the later arguments has the arguments of release 0.1.0, and so their hash', () => {
  assert.deepEqual(Object.keys(resolve({}).args).toSorted(), Object.keys(documentedDefaults).toSorted())
  for (const args of [documentedDefaults, { ...documentedDefaults, ...laterDefaults }])
    assert.ok(TrainingArgs.safeParse(args).success)
  const later = { warmup_ratio: 0.1, use_rslora: true, gradient_checkpointing: false, overlong: 'drop' } as const
  const more = { finetuning_type: 'lora', load_in_4bit: true, packing: 'auto', shard_base: true } as const
  const { args, givenArgs } = resolve({ ...later, ...more })
  assert.deepEqual(args, { ...resolve({}).args, ...later, ...more })
  assert.deepEqual(givenArgs.toSorted(), Object.keys(laterDefaults).toSorted())
})

test('a warm-up of the request beats that of the catalogue, in steps or as a share', () => {
  const warmup = (requested: object, recommended: object) => {
    const from = { ...entry, recommendedArgs: { ...entry.recommendedArgs, ...recommended } }
    const { args, notes } = resolve(requested, from)
    return [args.warmup_steps, args.warmup_ratio, notes.map(({ message }) => message).join()]
  }
  const told = 'warmup_ratio 0.1 has no effect, because warmup_steps replaces it.'
  assert.deepEqual(warmup({ warmup_ratio: 0.1 }, { warmup_steps: 5 }), [0, 0.1, ''])
  assert.deepEqual(warmup({ warmup_ratio: 0.1, warmup_steps: 0 }, { warmup_steps: 5 }), [0, 0.1, ''])
  assert.deepEqual(warmup({ warmup_ratio: 0.1, warmup_steps: 3 }, {}), [3, 0.1, told])
  assert.deepEqual(warmup({ warmup_steps: 0 }, { warmup_ratio: 0.1 }), [0, undefined, ''])
  assert.deepEqual(warmup({}, { warmup_ratio: 0.1 }), [0, 0.1, ''])
  assert.match(
    String(warmup({ warmup_ratio: 0.1, lr_scheduler_type: 'constant' }, {})[2]),
    /^warmup_ratio 0\.1 has no effect with lr_scheduler_type constant/,
  )
})

test('training all weights is refused with what is offered', () => {
  const { error } = FinetuneArgs.safeParse({ finetuning_type: 'full' })
  assert.match(String(error?.message), /must be lora, which trains an adapter: full is not offered yet/)
})
