// The parts of a reinforcement step may each be large, their product may not.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CatalogueEntry } from '../../../src/domain/catalogue.ts'
import { FineTuningGrader } from '../../../src/domain/fine-tuning-grader.ts'
import type { ServiceError } from '../../../src/domain/service-error.ts'
import { documentedDefaults } from '../../../src/domain/training-args.ts'
import { totalSteps } from '../../../src/domain/training-steps.ts'
import type { Ctx } from '../../../src/services/context.ts'
import { createGrading } from '../../../src/grading/grading-threads.ts'
import {
  notesOnAnswers,
  requireBoundedSampling,
  requireRowsOfStep,
} from '../../../src/services/training-jobs/bounded-sampling.ts'
import { resolveTask } from '../../../src/services/training-jobs/reward-task.ts'

const entry = { name: 'tiny', contextLength: 1024 } as CatalogueEntry
const grader = {
  ...{ type: 'string_check', name: 'right', operation: 'eq' },
  ...{ input: '{{sample.output_text}}', reference: '{{item.answer}}' },
}
const check = (hyperparameters: Record<string, number | string>, batch = 8, of = entry) => {
  const sampling = { samples_per_prompt: 8, compute_multiplier: 1, max_completion_tokens: 512, ...hyperparameters }
  requireBoundedSampling(
    { type: 'reinforcement', hyperparameters: sampling, given: Object.keys(hyperparameters) },
    { ...documentedDefaults, batch_size: batch, gradient_accumulation_steps: 1 },
    of,
  )
}

test('a usual step is taken, also where the default of an answer is longer than the context', () => {
  check({})
  check({ max_completion_tokens: 1024 })
})

test('too many answers, too long ones and too many tokens are refused by path', () => {
  const refused = (path: string) => (error: ServiceError) => error.issues[0]?.path === path
  const at = (name: string) => `method.reinforcement.hyperparameters.${name}`
  assert.throws(() => check({}, 10_000), refused(at('batch_size')))
  assert.throws(() => check({ max_completion_tokens: 2000 }), refused(at('max_completion_tokens')))
})

test('a bounded number of answers to a prompt is told', () => {
  const told = (asked: number, times: number) =>
    notesOnAnswers({
      ...{ type: 'reinforcement', given: [] },
      hyperparameters: { samples_per_prompt: asked, compute_multiplier: times },
    }).map(({ message }) => message)
  assert.deepEqual(told(6, 1.5), [])
  assert.deepEqual(told(8, 10), [
    'samples_per_prompt 8 times compute_multiplier 10 makes 80 answers to a prompt. The job samples 64, because 2 to 64 are allowed.',
  ])
})

test('a step of kto has at least two rows', () => {
  const rows = (batch: number, accumulation: number, given: string[] = []) =>
    requireRowsOfStep(
      { type: 'kto', hyperparameters: {}, given },
      { ...documentedDefaults, batch_size: batch, gradient_accumulation_steps: accumulation },
    )
  rows(1, 2)
  for (const [given, path] of [
    [['batch_size'], 'method.kto.hyperparameters.batch_size'],
    [[], 'finetune_args.batch_size'],
  ] as const)
    assert.throws(
      () => rows(1, 1, [...given]),
      ({ issues: [issue] }: ServiceError) => issue?.path === path,
    )
})

test('a vLLM samples at temperature 1 only', () => {
  const onVllm = { ...entry, engine: 'vllm' } as CatalogueEntry
  check({ rollouts: 'server', temperature: 1 }, 8, onVllm)
  check({ rollouts: 'inline', temperature: 0.9 }, 8, onVllm)
  check({ rollouts: 'server', temperature: 0.9 })
  assert.throws(() => check({ rollouts: 'server', temperature: 0.9 }, 8, onVllm), /temperature 1/)
})

test('steps count updates: two on the same answers are two steps of a pass', () => {
  const args = { ...documentedDefaults, num_train_epochs: 1, batch_size: 8, gradient_accumulation_steps: 1 }
  assert.deepEqual(totalSteps(args, 80, { hyperparameters: { num_iterations: 2 } }), { steps: 20, epochs: 1 })
})

test('answers in a form are sampled by the trainer, and by servers that tell what they were drawn by', async () => {
  const inference = {
    readSchemas: (sent: unknown[]) => Promise.resolve(sent),
    sampledGrammar: () => Promise.resolve('g'),
  }
  const ctx = { deps: { inference, grading: createGrading() }, accountId: 'a' } as unknown as Ctx
  const sent = { response_format: { type: 'json_object' as const }, grader: FineTuningGrader.parse(grader) }
  const taskOf = (rollouts: string, engine: CatalogueEntry['engine']) =>
    resolveTask(ctx, sent, { rollouts, max_completion_tokens: 64 }, { ...entry, engine })
  for (const [rollouts, engine] of [
    ['server', 'transformers'],
    ['inline', 'vllm'],
  ] as const)
    assert.equal((await taskOf(rollouts, engine)).grammar, 'g')
  await assert.rejects(taskOf('server', 'vllm'), ({ issues: [issue] }: ServiceError) => {
    assert.equal(issue?.path, 'method.reinforcement.response_format')
    return true
  })
})
