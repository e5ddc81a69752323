// A job of another account gets the next slot, whatever the method of the jobs that wait before it. The order of slots is
// tested in the database; here whole jobs run, so that what holds a slot or takes a second place would be seen.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { eventually } from '../support/eventually.ts'
import { openAccount, type Api } from '../support/stack.ts'

const crowd = 10
const rows = Array.from({ length: 16 }, (_, row) => ({ prompt: `Say ${row}: `, answer: `${row}` }))
const grader = {
  ...{ type: 'text_similarity', name: 'close', evaluation_metric: 'fuzzy_match' },
  ...{ input: '{{sample.output_text}}', reference: '{{item.answer}}' },
}
const hyperparameters = { batch_size: 2, samples_per_prompt: 4, max_completion_tokens: 8 }
const supervised = {
  data: rows.map(({ prompt, answer }) => ({ input: prompt, output: answer })),
  finetune_args: { max_steps: 20, batch_size: 4 },
}
const jobs = {
  supervised,
  reinforcement: {
    data: rows,
    finetune_args: { max_steps: 6 },
    method: { type: 'reinforcement', reinforcement: { grader, hyperparameters } },
  },
}

suite('a job beside ten of another account', () => {
  const overtaken: Record<string, number> = {}

  for (const [method, job] of Object.entries(jobs))
    test(`waits for a free slot, not for the ten, which are ${method}`, async (t) => {
      const [large, small] = [await openAccount(), await openAccount()]
      const ids: number[] = []
      for (let count = 0; count < crowd; count++) ids.push(await large.train(job))
      await eventually(async () => (await grants(large, ids)).length > 0)
      const sentAt = new Date().toISOString()
      const id = await small.train(supervised)
      await small.untilStatus(id, 'COMPLETED')
      const [gotAt] = await grants(small, [id])
      assert.ok(gotAt)
      overtaken[method] = (await grants(large, ids)).filter((at) => at > sentAt && at < gotAt).length
      t.diagnostic(`waited ${(Date.parse(gotAt) - Date.parse(sentAt)) / 1000} s for a slot`)
      await large.post('/v1/train/jobs/cancel', {})
    })

  test('waits for no more of the ten than if these were supervised', () => {
    assert.equal(overtaken['reinforcement'], overtaken['supervised'])
    assert.equal(overtaken['supervised'], 0)
  })
})

/** When each job that has started got its slot. */
async function grants(api: Api, ids: readonly number[]): Promise<string[]> {
  type Attempts = { attempts: { granted_at: string | null }[] }
  const lists = await Promise.all(ids.map((id) => api.get<Attempts>(`/v1/train/jobs/${id}/attempts`)))
  return lists.flatMap(({ attempts }) => attempts.slice(0, 1).flatMap(({ granted_at: at }) => at ?? []))
}
