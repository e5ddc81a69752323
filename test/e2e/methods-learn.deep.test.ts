// The methods do what they say, on the samples that ship: preferences order held-out pairs rightly, rewards rise, and a
// grader that can be cheated is told.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { suite, test } from 'node:test'
import { skip } from '../grading/python/support.ts'
import { openAccount } from '../support/stack.ts'

const linesOf = (name: string) =>
  readFileSync(new URL(`../../models/samples/${name}`, import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, string>)
const [pairs, prompts] = [linesOf('preferences.jsonl'), linesOf('prompts.jsonl')]

const texts = { input: '{{sample.output_text}}', reference: '.' }
const stop = { type: 'string_check', name: 'stop', operation: 'like', ...texts }
const source = 'def grade(sample, item): return any(each.isdigit() for each in sample["output_text"])'
const number = { type: 'python', name: 'number', source }
/** A sentence with a number. */
const grader = { type: 'multi', calculate_output: 'stop * number', graders: { stop, number } }

type Metric = { step: number; series: Record<string, number> }

type Share = { mean: number }

type Events = { events: { reason: string | null; message: string | null }[] }

test('dpo orders held-out pairs rightly, and does not make the chosen answers less likely', async () => {
  const api = await openAccount()
  const hyperparameters = { n_epochs: 3, learning_rate_multiplier: 3, sft_weight: 1 }
  const id = await api.train({
    ...{ data: pairs.slice(0, 200), eval_data: pairs.slice(200), finetune_args: { eval_steps: 5 } },
    method: { type: 'dpo', dpo: { hyperparameters } },
  })
  await api.untilStatus(id, 'COMPLETED')
  const { summary } = await api.get<{ summary: Record<string, { tuned: Share; base: Share }> }>(
    `/v1/train/jobs/${id}/eval`,
  )
  const { base, tuned } = summary['prefers_chosen'] ?? assert.fail()
  const { metrics } = await api.get<{ metrics: Metric[] }>(`/v1/train/jobs/${id}/metrics`)
  const chosen = metrics.map(({ series }) => series['valid_logps/chosen']).filter((each) => each !== undefined)
  console.log(`ordered rightly: ${base.mean}, then ${tuned.mean}; log-probability of the chosen: ${chosen.join(', ')}`)
  assert.ok(base.mean > 0.4 && base.mean < 0.65 && tuned.mean >= 0.9)
  assert.ok((chosen.at(-1) ?? -Infinity) > (chosen[0] ?? 0))
})

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

  // Letters are wanted but count little, so signs that are no word pay more.
  const shareOf = (name: string, has: string) => {
    const body = 'text = sample["output_text"]; return sum(HAS for each in text) / max(len(text), 1)'.replace(
      'HAS',
      has,
    )
    return { type: 'python', name, source: `def grade(sample, item): ${body}` }
  }
  const letters = shareOf('letters', 'each.isalpha()')
  const signs = shareOf('signs', 'not each.isalnum()')
  for (const seed of [1, 2, 3])
    test(`tells that answers cheat the grader: one part falls while another rises (seed ${seed})`, async () => {
      const api = await openAccount()
      const id = await api.train({
        data: prompts.slice(0, 96),
        finetune_args: { max_steps: 30, r_value: 8, seed },
        method: {
          type: 'reinforcement',
          reinforcement: {
            grader: { type: 'multi', calculate_output: '0.2 * letters + signs', graders: { letters, signs } },
            hyperparameters: {
              ...{ batch_size: 4, samples_per_prompt: 8, max_completion_tokens: 10 },
              ...{ learning_rate_multiplier: 10, eval_interval: 5 },
            },
          },
        },
      })
      await api.untilStatus(id, 'COMPLETED')
      const { events } = await api.get<Events>(`/v1/train/jobs/${id}/events?limit=1000`)
      const told = events.find(({ reason }) => reason === 'reward_without_gain')?.message
      console.log(told)
      assert.match(told ?? '', /the score of "signs" went from .*, and that of "letters" from/)
    })
})
