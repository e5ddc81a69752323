// Reinforcement teaches a form of answer: the mean reward of held-out prompts rises from almost nothing to almost all.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { suite, test } from 'node:test'
import { skip } from '../grading/python/support.ts'
import { openAccount } from '../support/stack.ts'

const prompts = readFileSync(new URL('../../models/samples/prompts.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as { prompt: string })

const texts = { input: '{{sample.output_text}}', reference: '.' }
const stop = { type: 'string_check', name: 'stop', operation: 'like', ...texts }
const source = 'def grade(sample, item): return any(each.isdigit() for each in sample["output_text"])'
const number = { type: 'python', name: 'number', source }
/** A sentence with a number. */
const grader = { type: 'multi', calculate_output: 'stop * number', graders: { stop, number } }

type Metric = { step: number; series: Record<string, number> }

suite('reinforcement', { skip }, () => {
  for (const seed of [1, 2, 3])
    test(`raises the reward of held-out prompts from at most 0.2 to at least 0.8 (seed ${seed})`, async () => {
      const api = await openAccount()
      const id = await api.train({
        data: prompts.slice(0, 96),
        eval_data: prompts.slice(96),
        finetune_args: { max_steps: 60, r_value: 8, seed },
        method: {
          type: 'reinforcement',
          reinforcement: {
            grader,
            hyperparameters: {
              ...{ batch_size: 8, samples_per_prompt: 8, max_completion_tokens: 16 },
              ...{ learning_rate_multiplier: 10, eval_interval: 10 },
            },
          },
        },
      })
      const begun = performance.now()
      await api.untilStatus(id, 'COMPLETED')
      const { metrics } = await api.get<{ metrics: Metric[] }>(`/v1/train/jobs/${id}/metrics`)
      const rewards = metrics.map(({ series }) => series['valid_reward']).filter((each) => each !== undefined)
      const seen = metrics.map(({ step, series }) => `${step}: ${series['reward']} ${series['valid_reward'] ?? ''}`)
      console.log(`${Math.round((performance.now() - begun) / 1000)} s; ${seen.join(', ')}`)
      assert.ok((metrics[0]?.series['reward'] ?? 1) <= 0.2, seen.join())
      assert.ok((rewards.at(-1) ?? 0) >= 0.8, seen.join())
    })
})
