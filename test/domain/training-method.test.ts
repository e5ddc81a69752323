import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  defaultedHyperparameters,
  methodForTrainer,
  resolveMethod,
  samplesPerPrompt,
  shownMethod,
} from '../../src/domain/training-method.ts'
import { MethodRequest } from '../../src/domain/method-request.ts'
import type { MethodName } from '../../src/domain/method-table.ts'
import type { ServiceError } from '../../src/domain/service-error.ts'
import { FineTuningGrader } from '../../src/domain/fine-tuning-grader.ts'
import { documentedDefaults, type TrainingArgs } from '../../src/domain/training-args.ts'

const resolve = (sent: unknown, finetuneArgs = {}) =>
  resolveMethod({ method: MethodRequest.parse(sent), finetuneArgs }, { recommendedArgs: { learning_rate: 0.001 } })

test('absent hyperparameters have the defaults of the method and of its loss', () => {
  const { method, recommendedArgs } = resolve({
    type: 'dpo',
    dpo: { hyperparameters: { loss_type: 'simpo', beta: 'auto' } },
  })
  assert.deepEqual(method?.hyperparameters, {
    ...{ beta: 2, loss_type: 'simpo', label_smoothing: 0, sft_weight: 0, simpo_gamma: 0.5, reference: 'none' },
  })
  assert.deepEqual(method.given, ['loss_type'])
  assert.deepEqual(recommendedArgs, { learning_rate: 0.0001, batch_size: 16, gradient_accumulation_steps: 1 })
})

test('arguments that a model recommends for a method replace the defaults of the method', () => {
  const model = {
    recommendedArgs: { learning_rate: 0.001, r_value: 8 },
    recommendedOfMethods: { dpo: { learning_rate: 0.0005, batch_size: 4 } },
  }
  const of = (sent: object) => resolveMethod({ method: MethodRequest.parse(sent), finetuneArgs: {} }, model)
  const { recommendedArgs, method } = of({ type: 'dpo' })
  assert.deepEqual(recommendedArgs, { learning_rate: 0.0005, batch_size: 4, gradient_accumulation_steps: 1 })
  const doubled = of({ type: 'dpo', dpo: { hyperparameters: { learning_rate_multiplier: 2 } } })
  assert.equal(doubled.finetuneArgs.learning_rate, 0.001)
  const args = { ...documentedDefaults, ...recommendedArgs, lora_alpha: 64 }
  assert.equal(shownMethod({ method, args }, model).dpo?.hyperparameters.learning_rate_multiplier, 1)
  assert.equal(of({ type: 'kto' }).recommendedArgs.learning_rate, 0.0001)
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
  const tripled = { type: 'dpo', dpo: { hyperparameters: { learning_rate_multiplier: 3 } } }
  // 3 times 0.0001 is 0.00030000000000000003.
  assert.equal(resolve(tripled, { learning_rate: 0.0003 }).finetuneArgs.learning_rate, 0.0003)
  assert.throws(
    () => resolve(tripled, { learning_rate: 0.003 }),
    /^ServiceError: learning_rate_multiplier makes the learning rate 0\.0003, and finetune_args\.learning_rate is 0\.003\./,
  )
})

const refused: [sent: object, path: string, message: RegExp][] = [
  [{ type: 'ppo' }, 'type', /must be supervised, dpo, kto/],
  [{ type: 'dpo', kto: {} }, 'kto', /^is not read, because method.type is dpo$/],
  [{ type: 'dpo', dpo: { hyperparameters: { beta: 11 } } }, 'dpo.hyperparameters.beta', /number from 0 to 10/],
  [{ type: 'dpo', dpo: { grader: {} } }, 'dpo', /^unrecognized key|Unrecognized key/i],
  [
    { type: 'reinforcement', reinforcement: { hyperparameters: { rollouts: 'elsewhere' } } },
    'reinforcement.hyperparameters.rollouts',
    /^must be "auto" or one of inline, server$/,
  ],
  [
    { type: 'reinforcement', reinforcement: { hyperparameters: { reasoning_effort: 'high' } } },
    'reinforcement.hyperparameters.reasoning_effort',
    /^must be "auto" or default: models here have no levels of effort$/,
  ],
  [
    { type: 'reinforcement', reinforcement: { hyperparameters: { samples_per_prompt: 2.5 } } },
    'reinforcement.hyperparameters.samples_per_prompt',
    /a whole number from 2 to 64/,
  ],
  [
    { type: 'dpo', dpo: { hyperparameters: { loss_type: 'x' } } },
    'dpo.hyperparameters.loss_type',
    /one of sigmoid, ipo/,
  ],
]

const sentOf = (type: MethodName, hyperparameters: object) => ({ type, [type]: { hyperparameters } })
/** Not read, or nothing is learned with them. */
const useless: [type: MethodName, hyperparameters: object, knob: string, message: RegExp][] = [
  ['supervised', { beta: 1 }, 'beta', /^beta is a hyperparameter of dpo and kto, not of supervised\.$/],
  [
    'supervised',
    { loss_type: 'x' },
    'loss_type',
    /^loss_type is a hyperparameter of dpo, kto and reinforcement, not of/,
  ],
  ['kto', { betta: 1 }, 'betta', /^betta is not a hyperparameter of kto\. Did you mean beta\?$/],
  ['dpo', { constructor: 1 }, 'constructor', /^constructor is not a hyperparameter of dpo\. It has beta, /],
  ['dpo', { rl_beta: 1 }, 'rl_beta', /^rl_beta is not a hyperparameter of dpo, which calls it beta\.$/],
  ['dpo', { lora_r: 8 }, 'lora_r', /\. See finetune_args\.r_value of POST \/v1\/train\.$/],
  ['reinforcement', { beta: 0.04 }, 'beta', /not of reinforcement, which calls it kl_coefficient\.$/],
  ['reinforcement', { num_generations: 4 }, 'num_generations', /, which calls it samples_per_prompt\.$/],
  ['reinforcement', { reward_weights: [1] }, 'reward_weights', /weighs rewards in its calculate_output\.$/],
  ['supervised', { reward_weights: [1] }, 'reward_weights', /\. It has train_on, /],
  ['dpo', { simpo_gamma: 1 }, 'simpo_gamma', /^simpo_gamma is read with loss_type simpo, not with sigmoid\.$/],
  ['dpo', { loss_type: 'hinge', label_smoothing: 0.1 }, 'label_smoothing', /robust.*, not with hinge\.$/],
  ['dpo', { loss_type: 'orpo', sft_weight: 2 }, 'sft_weight', /, not with orpo\.$/],
  ['dpo', { loss_type: 'simpo', reference: 'start' }, 'reference', /, not with simpo\.$/],
  ['reinforcement', { loss_type: 'cispo', epsilon: 0.1 }, 'epsilon', /, not with cispo\.$/],
  ['dpo', { beta: 0 }, 'beta', /^beta must be above 0: .* sft_weight/],
  ['dpo', { beta: 0, loss_type: 'ipo', sft_weight: 1 }, 'beta', /^beta must be at least 0\.001 with loss_type ipo/],
  ['dpo', { label_smoothing: 0.5, loss_type: 'robust' }, 'label_smoothing', /^label_smoothing must be below 0\.5/],
]

for (const [type, hyperparameters, knob, message] of useless)
  test(`refuses ${JSON.stringify(hyperparameters)} of ${type} by its path`, () => {
    assert.throws(
      () => resolve(sentOf(type, hyperparameters)),
      (error: ServiceError) => {
        const [issue] = error.issues
        assert.equal(issue?.path, `method.${type}.hyperparameters.${knob}`)
        assert.match(issue.message, message)
        return true
      },
    )
  })

const refusedToo: typeof refused = [
  [
    { type: 'dpo', dpo: { hyperparameters: JSON.parse('{"__proto__": 1}') as object } },
    'dpo.hyperparameters.__proto__',
    /^is not a known parameter$/,
  ],
  [sentOf('dpo', { learning_rate_multiplier: 1e-320 }), 'dpo.hyperparameters.learning_rate_multiplier', /from 1e-12/],
]

for (const [sent, path, message] of [...refused, ...refusedToo])
  test(`refuses ${JSON.stringify(sent)}`, () => {
    const { error } = MethodRequest.safeParse(sent)
    const issue = error?.issues[0]
    assert.equal(issue?.path.join('.'), path)
    assert.match(issue.message, message)
  })

test('a beta of 0 leaves the supervised part of a loss', () => {
  for (const more of [{ sft_weight: 1 }, { loss_type: 'orpo' }])
    assert.equal(resolve(sentOf('dpo', { beta: 0, ...more })).method?.hyperparameters['beta'], 0)
})

test('a loss takes the default of a hyperparameter that it does not read', () => {
  for (const sent of [
    sentOf('dpo', { simpo_gamma: 0.5, label_smoothing: 'auto', reference: 'start' }),
    sentOf('dpo', { loss_type: 'orpo', sft_weight: 0, reference: 'none', label_smoothing: 0 }),
    sentOf('reinforcement', { loss_type: 'cispo', epsilon: 0.2, epsilon_high: 4 }),
  ])
    assert.equal(MethodRequest.safeParse(sent).error, undefined)
})

test('refuses a formula that names no grader, or that never gives a number', () => {
  const problemOf = (formula: string) =>
    MethodRequest.safeParse({
      type: 'reinforcement',
      reinforcement: { grader: { ...grader, calculate_output: formula } },
    }).error?.issues.map(({ path, message }) => `${path.join('.')} ${message}`)[0]
  const at = 'reinforcement.grader.calculate_output'
  for (const formula of ['1', '0.5 + 2']) assert.equal(problemOf(formula), `${at} names none of its graders`)
  for (const formula of ['right / 0', 'log(right - right)', '1 / (right - right)', 'sqrt(0 - 1) * right'])
    assert.equal(problemOf(formula), `${at} gives no number, whatever its graders score`)
  for (const formula of ['right', '1 / right', 'log(right - 2)', 'log(0 - right)', '2 * right ^ 0.5'])
    assert.equal(problemOf(formula), undefined)
  assert.match(problemOf('wrong') ?? '', /names "wrong", which is none of its graders$/)
})

test('a job shows its method with the arguments as hyperparameters', () => {
  const args = { ...documentedDefaults, learning_rate: 0.0003, num_train_epochs: 2, batch_size: 8 }
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

const grader = {
  type: 'multi',
  calculate_output: 'right',
  graders: {
    right: {
      ...{ type: 'string_check', name: 'r', operation: 'eq' },
      ...{ input: '{{sample.output_text}}', reference: '{{item.answer}}' },
    },
  },
}

test('the trainer gets the hyperparameters that it reads, with the multiplied number of answers', () => {
  const sent = { samples_per_prompt: 8, compute_multiplier: 1.5, eval_interval: 20, loss_type: 'gspo' }
  const asked = { type: 'reinforcement', reinforcement: { grader, hyperparameters: sent } }
  const { method, finetuneArgs, recommendedArgs } = resolve(asked)
  assert.equal(finetuneArgs.eval_steps, 20)
  assert.deepEqual(recommendedArgs, { learning_rate: 0.0001, batch_size: 8, gradient_accumulation_steps: 1 })
  const task = { grader: FineTuningGrader.parse(grader) }
  const { reinforcement } = methodForTrainer({ ...(method ?? assert.fail()), task }) as Record<string, object>
  assert.deepEqual(reinforcement, {
    hyperparameters: {
      ...{ loss_type: 'gspo', epsilon: 0.0003, epsilon_high: 0.0004, kl_coefficient: 0, scale_rewards: 'group' },
      ...{ num_iterations: 1, max_completion_tokens: 512, mask_truncated: false, samples_per_prompt: 12 },
      ...{ temperature: 1, top_p: 1, on_grader_error: 'skip', rollouts: 'inline', eval_samples: 1 },
    },
  })
})

test('answers to a prompt are from 2 to 64, whatever they are multiplied by', () => {
  const product = (asked: number, times: number) =>
    samplesPerPrompt({ samples_per_prompt: asked, compute_multiplier: times })
  assert.deepEqual([product(8, 0.00001), product(8, 10), product(5, 0.5)], [2, 64, 3])
})

test('a job of reinforcement shows its grader, and how often it validates', () => {
  const { method, finetuneArgs } = resolve({ type: 'reinforcement', reinforcement: { grader } })
  const task = { grader: FineTuningGrader.parse(grader) }
  const args = { ...documentedDefaults, ...finetuneArgs, lora_alpha: 64 } as TrainingArgs
  const shown = shownMethod({ method: { ...(method ?? assert.fail()), task }, args }, undefined)
  assert.partialDeepStrictEqual(shown.reinforcement, {
    grader: { calculate_output: 'right' },
    hyperparameters: { eval_interval: 'auto', samples_per_prompt: 8, compute_multiplier: 1, keep_rollouts: 7 },
  })
})

test("OpenAI's own arguments of reinforcement are taken", () => {
  const hyperparameters = {
    ...{ batch_size: 'auto', compute_multiplier: 1, eval_interval: 'auto', eval_samples: 2 },
    ...{ learning_rate_multiplier: 'auto', n_epochs: 1, reasoning_effort: 'default' },
  }
  assert.ok(MethodRequest.safeParse({ type: 'reinforcement', reinforcement: { grader, hyperparameters } }).success)
})
