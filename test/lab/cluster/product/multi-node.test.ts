// One job on two nodes, through the public API: its losses are those of one node, and it continues after the loss of a pod.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { api } from '../support/cluster.ts'
import { deletePod, killProcesses, openJobs, podsOf } from '../support/jobs.ts'

const jobs = await openJobs({ podsOfJob: 2 })
const { account, inject } = jobs
after(() => jobs.end())

const args = { max_steps: 120, save_steps: 1000 }
const twoNodes = { gpu_config: { nodes: 2 } }
/** Floats are added in another order, and this difference grows with the steps. */
const tolerance = 1e-3

describe('a job on two nodes', () => {
  test('loses a pod by a delete and one by SIGKILL, and completes with the losses of one node', async (t) => {
    const [one, id] = await Promise.all([jobs.train(args), jobs.train(args, twoNodes)])
    const deleted = await inject(t, id, 10, async () => {
      const pods = await podsOf(id)
      assert.equal(pods.length, 2)
      t.diagnostic(`its pods are on ${pods.map(({ spec }) => spec.nodeName).join(' and ')}`)
      await deletePod(await secondPod(id))
    })
    assert.deepEqual([deleted.cause, deleted.exit_code], ['killed', 143])
    const killed = await inject(t, id, 30, async () => killProcesses(await secondPod(id)))
    assert.deepEqual([killed.cause, killed.exit_code], ['killed', 137])

    // Both continued from checkpoints that were saved when the pod ended, because no regular one was due.
    await jobs.completesAfter(id, ['killed', 'killed'])
    const froms = (await jobs.attempts(id)).map(({ from_step }) => from_step)
    assert((froms[1] ?? 0) >= 10 && (froms[2] ?? 0) >= 30, froms.join())
    await jobs.completes(one)
    const [expected, losses] = [await jobs.losses(one), await jobs.losses(id)]
    assert.equal(losses.length, expected.length)
    for (const [index, [step, loss = NaN]] of losses.entries()) {
      const [sameStep, alone = NaN] = expected[index] ?? []
      assert.equal(step, sameStep)
      assert(Math.abs(loss - alone) <= tolerance * alone, `step ${step}: ${loss} on two nodes, ${alone} on one`)
    }
  })

  test('wants no more of them than there may be', async () => {
    const body = { data: [{ input: 'a', output: 'b' }], gpu_config: { nodes: 3 } }
    await assert.rejects(account.train(body), /gpu_config.nodes may be at most 2 here/)
  })
})

/** The pod that does not report. */
async function secondPod(id: number) {
  const rank = 'batch.kubernetes.io/job-completion-index=1'
  const [pod] = await api.list<Awaited<ReturnType<typeof podsOf>>[number]>(
    `/api/v1/namespaces/anneal-runs/pods?labelSelector=anneal.dev/job=${id},${rank}`,
  )
  return pod ?? assert.fail('there is no second pod')
}
