// Rollouts as they are shown: page by page, and before their rewards are there.
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { readRolloutPage, type PageWanted } from '../../../src/datasets/rollout-page.ts'
import { readRollouts } from '../../../src/services/training-jobs/read-rollouts.ts'
import type { Storage } from '../../../src/storage/storage.ts'
import { contextOf } from '../../support/service-context.ts'

const sample = (index: number) => ({
  index,
  tokens: [5, 6, 7],
  text: `a${index}`,
  tool_calls: null,
  finish_reason: 'stop',
})
const sampled = [4, 1, 4].map((row) =>
  JSON.stringify({ row, prompt: 'Who?', item: { answer: 'a' }, device: 'cpu', samples: [sample(0), sample(1)] }),
)
const error = { grader: 'right', kind: 'other_error', message: 'No.' }
const rewarded = [1, 2, 3].map((reward) =>
  JSON.stringify({
    row: 0,
    rewards: [reward, null],
    advantages: [0.5, 0],
    grades: [{ right: reward }, {}],
    errors: [null, error],
  }),
)

function reading(files: Record<string, string[]>, { evaluationKey = null }: { evaluationKey?: string | null } = {}) {
  const lines = files['lines'] && { key: 'lines' }
  const preparedData = { train: { lines }, evaluation: { lines } }
  const listed = Object.keys(files).map((name) => ({ name, key: name, sizeBytes: 1, sha256: '' }))
  const deps = {
    database: {
      trainingJobs: {
        find: () => Promise.resolve({ ...{ id: 7, datasetId: 'a', spec: { evaluationKey } }, preparedData }),
      },
      artifacts: {
        listRollouts: (_job: number, { from }: { from: number }) =>
          Promise.resolve(from === 3 ? [{ step: 3, files: listed }] : []),
        newestRolloutStep: () => Promise.resolve(3),
      },
    },
    datasets: { rollouts: (wanted: PageWanted) => readRolloutPage(storage, wanted) },
  }
  // In pieces that end within a line.
  const storage = {
    read: (key: string) => {
      const text = (files[key] ?? []).map((line) => `${line}\n`).join('')
      const pieces = Array.from({ length: Math.ceil(text.length / 50) }, (_, at) => text.slice(50 * at, 50 * (at + 1)))
      return Promise.resolve(Readable.from(pieces.map((piece) => Buffer.from(piece))))
    },
  } as unknown as Storage
  const asked = { jobId: 7, step: undefined, row: undefined, split: 'train', after: 0, limit: 20 } as const
  return (input: Partial<Parameters<typeof readRollouts>[0]['input']> = {}) =>
    readRollouts({
      ctx: contextOf({ deps, accountId: 'a' }),
      input: { ...asked, ...input },
      signal: AbortSignal.any([]),
    })
}

const files = { 'samples.jsonl': sampled, 'rewards.jsonl': rewarded }

test('shows each answer with its reward, page by page', async () => {
  const read = reading(files)
  const first = await read({ limit: 2 })
  assert.deepEqual([first.step, first.policyStep, first.next], [3, 2, 2])
  const shown = { tokens: 3, finish_reason: 'stop' }
  assert.deepEqual(first.groups[0], {
    ...{ row: 4, datasetId: null, line: null, prompt: 'Who?', item: { answer: 'a' } },
    samples: [
      { index: 0, text: 'a0', ...shown, reward: 1, grades: { right: 1 }, error: null, advantage: 0.5 },
      { index: 1, text: 'a1', ...shown, reward: null, grades: {}, error, advantage: 0 },
    ],
  })
  const last = await read({ limit: 2, after: 2 })
  assert.deepEqual([last.groups.map(({ samples }) => samples[0]?.reward), last.next], [[3], null])
})

test('shows the groups of one row with their own rewards', async () => {
  const { groups } = await reading(files)({ row: 4 })
  assert.deepEqual(
    groups.map(({ samples }) => samples[0]?.reward),
    [1, 3],
  )
  // A next page is told only where it has something.
  const nextOf = async (row: number) => (await reading(files)({ row, limit: 1 })).next
  assert.deepEqual([await nextOf(4), await nextOf(1)], [2, null])
})

test('shows answers before they are graded', async () => {
  const { groups } = await reading({ 'samples.jsonl': sampled })()
  assert.deepEqual(
    groups.map(({ samples }) => [samples[0]?.reward, samples[0]?.advantage]),
    [0, 1, 2].map(() => [null, null]),
  )
})

test('names the step that has no rollouts', async () => {
  await assert.rejects(reading(files)({ step: 9 }), /Job 7 has no rollouts of step 9/)
})

test('names the data set and the line of each prompt, by the runs of lines that the data was prepared from', async () => {
  const placesOf = async (lines: string[], options = {}, split: 'train' | 'held_out' = 'train') => {
    const samples = { 'samples.jsonl': sampled, 'valid_samples.jsonl': sampled }
    const { groups } = await reading({ ...samples, lines }, options)({ split })
    return groups.map(({ datasetId, line }) => [datasetId, line])
  }
  // Rows 0 to 2 are lines 1 to 3 of b, row 3 on line 9 and further of c.
  const ofTwo = ['[0,1,"b"]', '[3,9,"c"]', '[8,20,"c"]']
  assert.deepEqual(await placesOf(ofTwo), [['c', 10], ['b', 2], ['c', 10]]) // prettier-ignore
  assert.deepEqual(await placesOf(['[0,2]', '[4,7]']), [['a', 7], ['a', 3], ['a', 7]]) // prettier-ignore
  const own = { evaluationKey: 'sent' }
  assert.deepEqual(await placesOf(['[0,2]'], own, 'held_out'), [[null, 6], [null, 3], [null, 6]]) // prettier-ignore
})
