import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  defaultedHyperparameters,
  MethodRequest,
  resolveMethod,
  shownMethod,
} from '../../src/domain/training-method.ts'
import { documentedDefaults } from '../../src/domain/training-args.ts'

const resolve = (sent: unknown, finetuneArgs = {}) =>
  resolveMethod({ method: MethodRequest.parse(sent), finetuneArgs }, 0.001)

test('absent hyperparameters have the defaults of the method and of its loss', () => {
  const { method, recommendedArgs } = resolve({
    type: 'dpo',
    dpo: { hyperparameters: { loss_type: 'simpo', beta: 'auto' } },
  })
  assert.deepEqual(method?.hyperparameters, {
    ...{ beta: 2, loss_type: 'simpo', label_smoothing: 0, sft_weight: 0, simpo_gamma: 0.5, reference: 'none' },
  })
  assert.deepEqual(method.given, ['loss_type'])
  assert.deepEqual(recommendedArgs, { learning_rate: 0.00001, batch_size: 16, gradient_accumulation_steps: 1 })
})

test('the hyperparameters of every method stand for arguments', () => {
  const hyperparameters = { n_epochs: 2, batch_size: 8, learning_rate_multiplier: 3 }
  const { finetuneArgs } = resolve({ type: 'supervised', supervised: { hyperparameters } }, { seed: 7 })
  assert.deepEqual(finetuneArgs, {
    ...{ seed: 7, num_train_epochs: 2, learning_rate: 0.003, batch_size: 8, gradient_accumulation_steps: 1 },
  })
})

test('a hyperparameter and its argument may say the same, and nothing else', () => {
  const sent = { type: 'kto', kto: { hyperparameters: { batch_size: 8 } } }
  assert.equal(resolve(sent, { batch_size: 4, gradient_accumulation_steps: 2 }).finetuneArgs.batch_size, 4)
  assert.throws(
    () => resolve(sent, { batch_size: 4 }),
    /method\.kto\.hyperparameters\.batch_size is 8, and finetune_args says 4/,
  )
})

const refused: [sent: object, path: string, message: RegExp][] = [
  [{ type: 'ppo' }, 'type', /must be supervised, dpo, kto/],
  [
    { type: 'supervised', supervised: { hyperparameters: { beta: 1 } } },
    'supervised.hyperparameters.beta',
    /^is a hyperparameter of dpo and kto, not of supervised$/,
  ],
  [
    { type: 'kto', kto: { hyperparameters: { betta: 1 } } },
    'kto.hyperparameters.betta',
    /^is not a hyperparameter of kto$/,
  ],
  [{ type: 'dpo', kto: {} }, 'kto', /^is not read, because method.type is dpo$/],
  [{ type: 'dpo', dpo: { hyperparameters: { beta: 11 } } }, 'dpo.hyperparameters.beta', /number from 0.001 to 10/],
  [
    { type: 'dpo', dpo: { hyperparameters: { loss_type: 'x' } } },
    'dpo.hyperparameters.loss_type',
    /one of sigmoid, ipo/,
  ],
]

for (const [sent, path, message] of refused)
  test(`refuses ${JSON.stringify(sent)}`, () => {
    const { error } = MethodRequest.safeParse(sent)
    const issue = error?.issues[0]
    assert.equal(issue?.path.join('.'), path)
    assert.match(issue.message, message)
  })

test('a job shows its method with the arguments as hyperparameters', () => {
  const args = { ...documentedDefaults, learning_rate: 0.00003, num_train_epochs: 2, batch_size: 8 }
  const { method } = resolve({ type: 'dpo' })
  const shown = shownMethod(
    { method, args: { ...args, gradient_accumulation_steps: 1 } },
    { recommendedArgs: { learning_rate: 0.001 } },
  )
  assert.partialDeepStrictEqual(shown, {
    type: 'dpo',
    dpo: { hyperparameters: { n_epochs: 2, batch_size: 8, learning_rate_multiplier: 3, beta: 0.1 } },
  })
})

test('a supervised job has a method only if it learns something else than answers', () => {
  const asked = (trainOn?: string) =>
    resolve({ type: 'supervised', supervised: { hyperparameters: { train_on: trainOn, n_epochs: 2 } } }).method
  assert.deepEqual([asked(), asked('auto'), asked('answers')], [null, null, null])
  assert.deepEqual(asked('everything'), {
    ...{ type: 'supervised', hyperparameters: { train_on: 'everything' }, given: ['n_epochs', 'train_on'] },
  })
})

test('a supervised job shows what it learns, also when its request did not say so', () => {
  const args = { ...documentedDefaults, lora_alpha: 64 }
  const shown = (method: ReturnType<typeof resolve>['method']) =>
    shownMethod({ method, args }, undefined).supervised?.hyperparameters['train_on']
  const { method } = resolve({ type: 'supervised', supervised: { hyperparameters: { train_on: 'last_answer' } } })
  assert.deepEqual([shown(null), shown(method)], ['answers', 'last_answer'])
  assert.deepEqual([defaultedHyperparameters(null), defaultedHyperparameters(method)], [['train_on'], []])
})
