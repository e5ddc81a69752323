// The ways of training, and the hyperparameters of each beside those that all have. Defaults are written nowhere else.
import type { Knob, MethodTable } from './method-knobs.ts'

const beta = {
  default: 0.1,
  minimum: 0.001,
  maximum: 10,
  description: 'How strongly the model is held to its reference: a small value lets it move far',
} as const
const weight = (kind: string) =>
  ({ default: 1, minimum: 0, maximum: 100, description: `How much a ${kind} answer counts` }) as const
const clip = (value: number, bound: string) =>
  ({ default: value, minimum: 0, maximum: 100, description: `A ratio of probabilities counts up to ${bound}` }) as const

/** Each method has these, too. `auto`: the model's own. */
export const sharedKnobs = {
  n_epochs: {
    default: 'auto',
    ...{ minimum: 1, maximum: 100_000, isWhole: true, isOpenAi: true },
    description: 'Passes over the training rows',
  },
  batch_size: {
    default: 'auto',
    ...{ minimum: 1, maximum: 100_000, isWhole: true, isOpenAi: true },
    description: 'Rows of one optimizer step',
  },
  learning_rate_multiplier: {
    // A smaller one would round the learning rate to 0.
    ...{ default: 1, minimum: 1e-12, maximum: 1000, isOpenAi: true },
    description: 'Multiplies the default learning rate of the model',
  },
} as const

/** A step has at most this many answers to one prompt, at least two to compare. */
export const answersPerPrompt = { least: 2, most: 64 } as const

/** By loss: the hyperparameters that it reads, of those that not every loss of its method reads. */
const losses = {
  dpo: {
    sigmoid: ['label_smoothing', 'sft_weight', 'reference'],
    ipo: ['sft_weight', 'reference'],
    hinge: ['sft_weight', 'reference'],
    robust: ['label_smoothing', 'sft_weight', 'reference'],
    sigmoid_norm: ['label_smoothing', 'sft_weight', 'reference'],
    apo_zero: ['sft_weight', 'reference'],
    orpo: [],
    simpo: ['label_smoothing', 'sft_weight', 'simpo_gamma'],
  },
  reinforcement: {
    grpo: ['epsilon'],
    dapo: ['epsilon'],
    dr_grpo: ['epsilon'],
    bnpo: ['epsilon'],
    gspo: ['epsilon'],
    cispo: [],
  },
} as const
type WithLosses = keyof typeof losses

const lossTypesOf = (method: WithLosses): string[] => Object.keys(losses[method])

const readersOf = (method: WithLosses, knob: string): string[] =>
  Object.entries<readonly string[]>(losses[method]).flatMap(([loss, read]) => (read.includes(knob) ? [loss] : []))

export const trainingMethods = {
  supervised: {
    hyperparameters: {
      train_on: {
        default: 'answers',
        choices: ['answers', 'last_answer', 'everything'],
        description:
          'What of a row is learned: its answers, the last of them, or the prompt too. Of a text everything is learned',
      },
    },
    defaultsByLossType: {},
    takesRowsOf: ['supervised', 'kto'],
    series: ['entropy'],
    rateFactor: 1,
  },
  dpo: {
    hyperparameters: {
      beta: { ...beta, minimum: 0, isOpenAi: true },
      loss_type: {
        default: 'sigmoid',
        choices: lossTypesOf('dpo'),
        description: 'The loss of a pair, by its name in TRL',
      },
      label_smoothing: {
        default: 0,
        minimum: 0,
        maximum: 0.5,
        description:
          'The share of pairs whose answers are thought to be swapped: cDPO with sigmoid, Robust DPO with robust',
        lossTypes: readersOf('dpo', 'label_smoothing'),
      },
      sft_weight: {
        default: 0,
        minimum: 0,
        maximum: 100,
        description:
          'How much the supervised loss of the chosen answer is added (RPO); orpo has a supervised part already',
        lossTypes: readersOf('dpo', 'sft_weight'),
      },
      simpo_gamma: {
        default: 0.5,
        minimum: 0,
        maximum: 100,
        description: 'The margin that SimPO asks for between the two answers',
        lossTypes: readersOf('dpo', 'simpo_gamma'),
      },
      reference: {
        default: 'start',
        choices: ['start', 'none'],
        description: 'The model that the trained one is compared with: the one that the job began with, or none',
        lossTypes: readersOf('dpo', 'reference'),
      },
    },
    defaultsByLossType: {
      sigmoid_norm: { beta: 2 },
      simpo: { beta: 2, reference: 'none' },
      orpo: { reference: 'none' },
    },
    takesRowsOf: ['dpo'],
    series: [
      'rewards/chosen',
      'rewards/rejected',
      'rewards/margins',
      'rewards/accuracies',
      'logps/chosen',
      'logps/rejected',
      'entropy',
    ],
    batchSize: 16,
    rateFactor: 0.1,
  },
  kto: {
    hyperparameters: {
      beta,
      loss_type: {
        default: 'kto',
        choices: ['kto', 'apo_zero_unpaired'],
        description: 'The loss of a judged answer, by its name in TRL',
      },
      desirable_weight: weight('good'),
      undesirable_weight: weight('bad'),
    },
    defaultsByLossType: {},
    takesRowsOf: ['kto', 'dpo'],
    series: [
      'rewards/chosen',
      'rewards/rejected',
      'rewards/margins',
      'logps/chosen',
      'logps/rejected',
      'kl',
      'entropy',
    ],
    batchSize: 16,
    rateFactor: 0.1,
  },
  reinforcement: {
    hyperparameters: {
      samples_per_prompt: {
        ...{ default: 8, minimum: answersPerPrompt.least, maximum: answersPerPrompt.most, isWhole: true },
        description: 'Answers that are sampled for each prompt of a step, and compared with each other',
      },
      compute_multiplier: {
        ...{ default: 1, minimum: 0.00001, maximum: 10, isOpenAi: true, isForService: true },
        description: 'Multiplies samples_per_prompt; the product is rounded, from 2 to 64',
      },
      max_completion_tokens: {
        ...{ default: 512, minimum: 1, maximum: 1_000_000, isWhole: true },
        description: 'The most tokens of a sampled answer',
      },
      temperature: {
        ...{ default: 1, minimum: 0.01, maximum: 2 },
        description: 'How far sampled answers stray from the likeliest ones',
      },
      top_p: {
        ...{ default: 1, minimum: 0.01, maximum: 1 },
        description: 'Answers are sampled from the likeliest tokens that have this share of the probability together',
      },
      loss_type: {
        default: 'dapo',
        choices: lossTypesOf('reinforcement'),
        description: 'How answers and tokens are weighed, by its name in TRL',
      },
      epsilon: {
        ...clip(0.2, 'this far below 1'),
        lossTypes: readersOf('reinforcement', 'epsilon'),
      },
      epsilon_high: clip(0.28, 'this far above 1; with cispo up to this value'),
      kl_coefficient: {
        ...{ default: 0, minimum: 0, maximum: 10 },
        description: 'How strongly the model is held to the one that the job began with',
      },
      scale_rewards: {
        default: 'group',
        choices: ['group', 'batch', 'none'],
        description: 'Whose spread the rewards are divided by',
      },
      num_iterations: {
        ...{ default: 1, minimum: 1, maximum: 16, isWhole: true },
        description: 'Updates on the same sampled answers',
      },
      mask_truncated: {
        default: false,
        description: 'Whether answers that were cut off by max_completion_tokens teach nothing',
      },
      on_grader_error: {
        default: 'skip',
        choices: ['skip', 'zero', 'fail'],
        description: 'What becomes of an answer without a score: it teaches nothing, scores 0, or ends the job',
      },
      rollouts: {
        default: 'inline',
        choices: ['inline', 'server'],
        description: 'Where answers are sampled: in the trainer (inline), or by the replicas of the model server',
      },
      eval_interval: {
        ...{ default: 'auto', minimum: 1, maximum: 10_000_000, argument: 'eval_steps', isOpenAi: true },
        description: 'Steps from one validation on held-out prompts to the next; ten times a run when absent',
      },
      eval_samples: {
        ...{ default: 1, minimum: 1, maximum: 10, isWhole: true, isOpenAi: true },
        description: 'Answers to each held-out prompt of a validation',
      },
      keep_rollouts: {
        ...{ default: 7, minimum: 0, maximum: 365, isForService: true },
        description: 'Days after the end of the job for which its rollouts are kept',
      },
      reasoning_effort: {
        ...{ default: 'default', choices: ['default'], isOpenAi: true, isForService: true },
        otherwise: 'models here have no levels of effort',
        description: 'Accepted with the value default',
      },
    },
    defaultsByLossType: {
      gspo: { epsilon: 3e-4, epsilon_high: 4e-4 },
      cispo: { epsilon_high: 5 },
    },
    // An answer beside a prompt may also be what a grader compares with.
    takesRowsOf: ['reinforcement', 'supervised'],
    series: [
      'reward',
      'reward_std',
      'frac_reward_zero_std',
      'completions/mean_length',
      'completions/clipped_ratio',
      'clip_ratio/low_mean',
      'clip_ratio/high_mean',
      'clip_ratio/region_mean',
      'kl',
      'entropy',
      'sampling/importance_sampling_ratio/mean',
      'step_seconds/sampling',
      'step_seconds/grading',
      'step_seconds/training',
    ],
    batchSize: 8,
    rateFactor: 0.1,
  },
} as const satisfies Record<string, MethodTable>

const isForTrainer = (knob: Knob) => !knob.isForService && !('argument' in knob)

/** The default of each hyperparameter that a trainer reads. */
export const methodDefaults = Object.fromEntries(
  Object.entries<MethodTable>(trainingMethods).map(([name, { hyperparameters, defaultsByLossType }]) => [
    name,
    {
      defaults: Object.fromEntries(
        Object.entries(hyperparameters)
          .filter(([, knob]) => isForTrainer(knob))
          .map(([knob, { default: value }]) => [knob, value]),
      ),
      defaults_by_loss_type: defaultsByLossType,
    },
  ]),
)

/** Jobs may train by these methods. */
export const offeredMethods = ['supervised', 'dpo', 'kto', 'reinforcement'] as const
export type MethodName = (typeof offeredMethods)[number]
