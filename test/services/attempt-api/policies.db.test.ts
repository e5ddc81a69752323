// Policies from which model servers sample, on Postgres. Each test runs in a transaction that is rolled back.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { ArtifactKind, TrainingSpec } from '../../../src/domain/training-job.ts'
import type { SampleRequest } from '../../../src/inference/sample.ts'
import type { Repositories } from '../../../src/repositories/database.ts'
import { policyName } from '../../../src/domain/rollouts.ts'
import { deleteAccount } from '../../../src/services/admin/delete-account.ts'
import { commitArtifact, createArtifact } from '../../../src/services/attempt-api/artifacts.ts'
import { removeOldPolicies } from '../../../src/services/attempt-api/policies.ts'
import { sampleAnswers } from '../../../src/services/attempt-api/sample.ts'
import type { AdminCtx, PodCtx } from '../../../src/services/context.ts'
import { anAccount, openAttempt, openJob } from '../../support/job-rows.ts'
import { createSandbox, openDatabase } from '../../support/sandbox.ts'
import { contextOf } from '../../support/service-context.ts'

suite('policies', () => {
  const sandbox = createSandbox(openDatabase())

  async function aTraining(tx: Repositories, rollouts = 'server') {
    const accountId = await anAccount(tx)
    const method = { type: 'reinforcement', hyperparameters: { rollouts, temperature: 0.9, top_p: 1 }, given: [] }
    const { id: jobId } = await openJob(tx, accountId, { method, args: {} } as unknown as TrainingSpec)
    const { tokenHash } = await openAttempt(tx, accountId, 1, jobId)
    await tx.attempts.claim(tokenHash, 'one')
    const unloaded: string[] = []
    const removed: string[] = []
    const drawn: SampleRequest[] = []
    const state = { isAway: false, storedSha256: 'a'.repeat(64) }
    const deps = {
      database: { ...tx, transaction: <T>(work: (tx: Repositories) => Promise<T>) => work(tx) },
      storage: {
        partBytes: 100,
        presignPodPut: (key: string) => Promise.resolve(key),
        presignPodGet: (key: string) => Promise.resolve(`signed ${key}`),
        stat: () => Promise.resolve({ sizeBytes: 1 }),
        sha256: () => Promise.resolve({ sha256: state.storedSha256, sizeBytes: 1 }),
        remove: async (keys: string[]) => void removed.push(...keys),
        removeFolder: () => Promise.resolve(0),
      },
      catalogue: { find: (name: string) => ({ name }) },
      inference: {
        unloadAdapter: (_model: string, name: string) => {
          if (state.isAway) return Promise.reject(new Error('the replica is away'))
          unloaded.push(name)
          return Promise.resolve()
        },
        sample: (request: SampleRequest) => {
          drawn.push(request)
          request.onAnswer(0, { tokens: [5], logps: [-1], finishReason: 'stop' })
          return Promise.resolve()
        },
      },
      log: { warn: () => undefined },
    }
    const pod = contextOf<PodCtx>({ deps, tokenHash })
    const upload = (kind: ArtifactKind, step: number, name = 'adapter_model.safetensors') =>
      createArtifact({ pod, input: { kind, step, files: [{ name, sizeBytes: 1, sha256: 'a'.repeat(64) }] } })
    const commit = async (...of: Parameters<typeof upload>) => {
      const { artifactId } = await upload(...of)
      await commitArtifact({ pod, input: { artifactId } })
      return artifactId
    }
    const steps = async () => {
      const found = await Promise.all([0, 1, 2, 3].map((step) => tx.artifacts.policyOf(jobId, step)))
      return found.flatMap((policy) => policy?.step ?? [])
    }
    const sample = (policyStep: number) =>
      sampleAnswers({
        pod,
        input: { policyStep, answers: [{ row: 4, index: 0, prompt: [1], maxTokens: 4, seed: '9223372036854775807' }] },
      })
    return { jobId, accountId, pod, state, unloaded, removed, drawn, upload, commit, steps, sample }
  }

  test('are replaced by a later upload of the same step only when the store has damaged them', () =>
    sandbox(async (tx) => {
      const { jobId, state, commit } = await aTraining(tx)
      const first = await commit('policy', 2)
      await commit('policy', 2)
      assert.equal((await tx.artifacts.policyOf(jobId, 2))?.id, first)
      state.storedSha256 = 'b'.repeat(64)
      const second = await commit('policy', 2)
      assert.equal((await tx.artifacts.policyOf(jobId, 2))?.id, second)
    }))

  test('are sampled from once they are committed, by the settings of the job', () =>
    sandbox(async (tx) => {
      const { jobId, drawn, commit, sample, upload } = await aTraining(tx)
      await upload('policy', 2)
      await assert.rejects(sample(2), /Commit the policy of step 2/)
      await commit('policy', 2)
      const { sampled, waiting } = await sample(2)
      assert.deepEqual(sampled, [{ row: 4, index: 0, tokens: [5], logps: [-1], finishReason: 'stop' }])
      assert.deepEqual(waiting, [])
      const { adapter, temperature, topP, answers } = drawn[0] ?? assert.fail()
      assert.deepEqual([adapter?.name, temperature, topP], [`policy-${jobId}-2`, 0.9, 1])
      assert.equal(answers[0]?.seed, '9223372036854775807')
      const [file] = (await adapter?.files()) ?? []
      assert.match(file?.url ?? '', /^signed /)
      assert.equal(file?.sizeBytes, 1)
    }))

  test('are of jobs that ask for model servers only', () =>
    sandbox(async (tx) => {
      const { commit, sample } = await aTraining(tx, 'inline')
      await commit('policy', 0)
      await assert.rejects(sample(0), { code: 'conflict' })
    }))

  test('the first one of a step stays, because servers know its weights by its name', () =>
    sandbox(async (tx) => {
      const { jobId, commit } = await aTraining(tx)
      const first = await commit('policy', 0)
      await commit('policy', 0)
      assert.equal((await tx.artifacts.policyOf(jobId, 0))?.id, first)
    }))

  test('are unloaded and removed once the answers of a later step, or the model, are committed', () =>
    sandbox(async (tx) => {
      const { jobId, unloaded, removed, upload, commit, steps } = await aTraining(tx)
      await commit('policy', 0)
      // A kill has left it.
      await upload('policy', 0)
      await commit('rollouts', 0, 'valid_samples.jsonl')
      assert.deepEqual(await steps(), [0])
      await commit('rollouts', 1, 'samples.jsonl')
      assert.deepEqual(await steps(), [])
      assert.deepEqual(unloaded, [`policy-${jobId}-0`, `policy-${jobId}-0`])
      assert.equal(removed.length, 2)
      await commit('policy', 2)
      await commit('checkpoint', 3)
      assert.deepEqual(await steps(), [2])
      await commit('model', 3)
      assert.deepEqual(await steps(), [])
    }))

  test('are nowhere loaded beside a later one, though a replica was away when they should have gone', () =>
    sandbox(async (tx) => {
      const { jobId, pod, state, unloaded, commit, steps, sample } = await aTraining(tx)
      await commit('policy', 0)
      state.isAway = true
      await commit('rollouts', 1, 'samples.jsonl')
      await assert.rejects(sample(0), { code: 'conflict' }, 'nobody loads it again')
      assert.deepEqual(unloaded, [])
      state.isAway = false
      await commit('policy', 1)
      assert.deepEqual(unloaded, [`policy-${jobId}-0`])
      assert.deepEqual(await steps(), [1])
      assert.equal(await removeOldPolicies(pod.deps, jobId), 0)
    }))

  test('of a job that has ended are removed by retention, and those of an open one are kept', () =>
    sandbox(async (tx) => {
      const { jobId, pod, commit, steps } = await aTraining(tx)
      await commit('policy', 0)
      await removeOldPolicies(pod.deps)
      assert.deepEqual(await steps(), [0])
      await tx.trainingJobs.queue({ jobId, generation: 1, reason: null, message: null })
      await tx.trainingJobs.move({ jobId, generation: 1, to: 'FAILED', reason: null, message: null, actor: 'test' })
      await removeOldPolicies(pod.deps)
      assert.deepEqual(await steps(), [])
    }))

  test('leave the model servers when their account is deleted', () =>
    sandbox(async (tx) => {
      const { jobId, accountId, pod, commit, unloaded } = await aTraining(tx)
      await commit('policy', 0)
      await tx.trainingJobs.queue({ jobId, generation: 1, reason: null, message: null })
      await tx.trainingJobs.move({ jobId, generation: 1, to: 'FAILED', reason: null, message: null, actor: 'test' })
      await tx.attempts.release({ jobId, number: 1 }, { cause: 'killed', exitCode: null, message: '' })
      const admin = contextOf<AdminCtx>({ deps: pod.deps, accountId: null, apiKeyId: 'operator' })
      assert.equal((await deleteAccount({ admin, input: { id: accountId } })).jobs, 1)
      assert.deepEqual(unloaded, [policyName(jobId, 0)])
    }))
})
