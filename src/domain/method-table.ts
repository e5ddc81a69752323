// The ways of training, and the hyperparameters of each beside those that all have. Defaults are written nowhere else.
import type { Knob, MethodTable } from './method-knobs.ts'
import { reinforcementTable } from './reinforcement-table.ts'

const beta = {
  default: 0.1,
  minimum: 0.001,
  maximum: 10,
  description: 'How strongly the model is held to its reference: a small value lets it move far',
} as const
const weight = (kind: string) =>
  ({ default: 1, minimum: 0, maximum: 100, description: `How much a ${kind} answer counts` }) as const

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
    rows: [
      { input: 'Who?', output: 'Me.' },
      { text: 'A whole text.' },
      {
        messages: [
          { role: 'user', content: 'Who?' },
          { role: 'assistant', content: 'Me.' },
        ],
      },
    ],
    series: [],
    rateFactor: 1,
  },
  dpo: {
    hyperparameters: {
      beta: { ...beta, isOpenAi: true },
      loss_type: {
        default: 'sigmoid',
        choices: ['sigmoid', 'ipo', 'hinge', 'robust', 'sigmoid_norm', 'apo_zero', 'orpo', 'simpo'],
        description: 'The loss of a pair, by its name in TRL',
      },
      label_smoothing: {
        default: 0,
        minimum: 0,
        maximum: 0.5,
        description:
          'The share of pairs whose answers are thought to be swapped: cDPO with sigmoid, Robust DPO with robust',
      },
      sft_weight: {
        default: 0,
        minimum: 0,
        maximum: 100,
        description: 'How much the supervised loss of the chosen answer is added (RPO)',
      },
      simpo_gamma: {
        default: 0.5,
        minimum: 0,
        maximum: 100,
        description: 'The margin that SimPO asks for between the two answers',
      },
      reference: {
        default: 'start',
        choices: ['start', 'none'],
        description: 'The model that the trained one is compared with: the one that the job began with, or none',
      },
    },
    defaultsByLossType: {
      sigmoid_norm: { beta: 2 },
      simpo: { beta: 2, reference: 'none' },
      orpo: { reference: 'none' },
    },
    rows: [
      { prompt: 'Who?', chosen: 'Me.', rejected: 'Nobody.' },
      {
        input: { messages: [{ role: 'user', content: 'Who?' }] },
        preferred_output: [{ role: 'assistant', content: 'Me.' }],
        non_preferred_output: [{ role: 'assistant', content: 'Nobody.' }],
      },
    ],
    series: [
      'rewards/chosen',
      'rewards/rejected',
      'rewards/margins',
      'rewards/accuracies',
      'logps/chosen',
      'logps/rejected',
    ],
    batchSize: 16,
    rateFactor: 0.01,
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
    rows: [
      { prompt: 'Who?', completion: 'Me.', label: true },
      {
        messages: [
          { role: 'user', content: 'Who?' },
          { role: 'assistant', content: 'Nobody.' },
        ],
        label: false,
      },
    ],
    series: ['rewards/chosen', 'rewards/rejected', 'rewards/margins', 'logps/chosen', 'logps/rejected', 'kl'],
    batchSize: 16,
    rateFactor: 0.01,
  },
  reinforcement: reinforcementTable,
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
