// The rows that retention removes, on Postgres. Each test runs in a transaction that is rolled back.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import { makeApiKey, parseApiKey } from '../../src/domain/identifiers.ts'
import type { ArtifactKind, TrainingSpec } from '../../src/domain/training-job.ts'
import type { Repositories } from '../../src/repositories/database.ts'
import { query } from '../embedded/support/stack-process.ts'
import { anAccount, openAttempt, openJob } from '../support/job-rows.ts'
import { createSandbox, openDatabase } from '../support/sandbox.ts'
import { connection } from '../support/stack.ts'

const noUsage = { prompts: 1, promptTokens: 0, completionTokens: 0, engineSeconds: 0, gpuSeconds: 0 }

suite('retention', () => {
  const database = openDatabase()
  const soon = () => new Date(Date.now() + 60_000)

  const sandbox = createSandbox(database)

  test('messages go once Temporal has them, and not before', () =>
    sandbox(async (tx) => {
      const message = { kind: 'start', generation: 1, payload: { jobId: 0 } } as const
      const [delivered, waiting] = [`test-${randomUUID()}`, `test-${randomUUID()}`]
      for (const workflowId of [delivered, waiting]) await tx.outbox.add({ ...message, workflowId })
      const claimed = await tx.outbox.claim(1000)
      await tx.outbox.markDelivered(claimed.find(({ workflowId }) => workflowId === delivered)?.id ?? 0n)
      const none = await tx.retention.deleteOld('outbox_messages', new Date(0), 1000)
      assert.equal(none, 0)
      assert.ok((await tx.retention.deleteOld('outbox_messages', soon(), 100_000)) >= 1)
      const left = claimed.find(({ workflowId }) => workflowId === waiting)
      await tx.outbox.retryLater(left?.id ?? 0n, { afterMs: 0, error: 'test' })
      assert.ok((await tx.outbox.claim(1000)).some(({ workflowId }) => workflowId === waiting))
    }))

  test('keys go by age', () =>
    sandbox(async (tx) => {
      const key = { accountId: randomUUID(), key: 'k' }
      await tx.idempotencyKeys.claim(key, Buffer.from('h'), 1000)
      assert.equal(await tx.retention.deleteOld('idempotency_keys', new Date(0), 10), 0)
      assert.ok((await tx.retention.deleteOld('idempotency_keys', soon(), 100_000)) >= 1)
      assert.equal(await tx.idempotencyKeys.claim(key, Buffer.from('other'), 1000), null)
    }))

  test('audit events go by age, and Postgres refuses to remove younger ones than 90 days', async () => {
    const accountId = await anAccount(database)
    const targets = async () =>
      (await database.auditEvents.list(accountId, { before: null, limit: 10 })).map(({ target }) => target)
    await query(
      connection().databaseUrl,
      `insert into audit_events (at, account_id, action, target)
       select now() - make_interval(days => days), '${accountId}', 'test', days from unnest(array[401, 399, 1]) days`,
    )
    const before = new Date(Date.now() - 400 * 86_400_000)
    assert.ok((await database.retention.deleteOld('audit_events', before, 100_000)) >= 1)
    assert.deepEqual(await targets(), ['1', '399'])
    await assert.rejects(database.retention.deleteOld('audit_events', soon(), 100_000), /append-only/)
    assert.deepEqual(await targets(), ['1', '399'])
  })

  test('keys go after their revocation or expiry, once neither a key that they made nor usage names them', async () => {
    // Its first key is older than those of the transaction.
    const accountId = await anAccount(database)
    await sandbox(async (tx) => {
      const past = new Date(Date.now() - 1000)
      const aKey = async (changes: { expiresAt?: Date; revoked?: true; makerKeyId?: string } = {}) => {
        const { id, secretHash } = parseApiKey(makeApiKey()) ?? assert.fail()
        const { expiresAt = null, revoked, makerKeyId = null } = changes
        await tx.apiKeys.create({ id, secretHash, accountId, name: 'test', scopes: [], expiresAt, makerKeyId })
        if (revoked) await tx.apiKeys.revoke(id, past)
        return id
      }
      const [revoked, expired, valid] = [await aKey({ revoked: true }), await aKey({ expiresAt: past }), await aKey()]
      const maker = await aKey({ revoked: true })
      const made = await aKey({ makerKeyId: maker })
      const used = await aKey({ revoked: true })
      const entry = { ...{ accountId, day: '2026-11-20', apiKeyId: used, model: 'm' }, ...noUsage }
      await tx.usage.add({ writer: randomUUID(), batch: 1, entries: [entry] })
      const left = async () => {
        const all = await Promise.all(
          [revoked, expired, valid, maker, made, used].map((id) => tx.apiKeys.find(accountId, id)),
        )
        return all.map((key) => key?.id ?? null)
      }
      await tx.retention.deleteEndedKeys(new Date(0), 100_000)
      assert.deepEqual(await left(), [revoked, expired, valid, maker, made, used])
      await tx.retention.deleteEndedKeys(soon(), 100_000)
      assert.deepEqual(await left(), [null, null, valid, maker, made, used])
      await tx.apiKeys.revoke(made, past)
      await tx.retention.deleteEndedKeys(soon(), 100_000)
      await tx.retention.deleteEndedKeys(soon(), 100_000)
      assert.deepEqual(
        await left(),
        [null, null, valid, null, null, used],
        'the key that was made first, then its maker',
      )
    })
  })

  test('the first key of an account stays, so that no restart of the api makes a revoked one valid again', () =>
    sandbox(async (tx) => {
      const key = parseApiKey(makeApiKey()) ?? assert.fail()
      const ensure = () => tx.accounts.ensureWithApiKey({ name: 'first', keyId: key.id, secretHash: key.secretHash })
      await ensure()
      await tx.apiKeys.revoke(key.id, new Date(0))
      await tx.retention.deleteEndedKeys(soon(), 100_000)
      await ensure()
      assert.equal(await tx.accounts.findLiveApiKey(key.id), null)
    }))

  test('trackers go after the end of their job, and a resume makes them anew', () =>
    sandbox(async (tx) => {
      const accountId = await anAccount(tx)
      const spec = { trackers: [{ type: 'mlflow' }] } as unknown as TrainingSpec
      const [open, ended] = [await openJob(tx, accountId, spec), await openJob(tx, accountId, spec)]
      const move = { generation: 1, to: 'FAILED', reason: null, message: null, actor: 'test' } as const
      await tx.trainingJobs.move({ jobId: ended.id, ...move })
      const states = async () =>
        (await Promise.all([open, ended].map(({ id }) => tx.jobTrackers.list(id)))).map((rows) =>
          rows.map(({ state }) => state),
        )
      await tx.retention.deleteTrackers(new Date(0), 100_000)
      assert.deepEqual(await states(), [['open'], ['open']])
      await tx.retention.deleteTrackers(soon(), 100_000)
      assert.deepEqual(await states(), [['open'], []])
      await tx.trainingJobs.resume(ended.id, 'Resumed.')
      assert.deepEqual(await states(), [['open'], ['open']])
    }))

  test('removes uncommitted and corrupt artifacts of an ended job with few checkpoints, models too', () =>
    sandbox(async (tx) => {
      const { jobId, upload } = await jobWithUploads(tx)
      const kept = await upload('model', 'committed')
      // Model servers may hold it.
      await upload('policy', 'corrupt')
      const broken = [
        await upload('checkpoint', 'uploading'),
        await upload('checkpoint', 'corrupt'),
        await upload('model', 'uploading'),
        await upload('model', 'corrupt'),
      ]
      const row = { split: 'train', input: 'q', expected: 'a', tuned: 'a', base: '?' } as const
      await tx.artifacts.replaceEvaluation(broken[3] ?? '', [row])
      await tx.attempts.release({ jobId, number: 1 }, { cause: 'killed', exitCode: null, message: '' })

      assert.deepEqual(await oldArtifacts(tx, jobId, new Date(0)), [])
      assert.deepEqual(await oldArtifacts(tx, jobId, soon()), broken.toSorted())
      await tx.retention.deleteArtifacts(broken)
      assert.deepEqual(await oldArtifacts(tx, jobId, soon()), [])
      assert.ok(await tx.artifacts.find(jobId, kept))
    }))

  test('a complete job keeps as many checkpoints as it asked for, an ended job at least those of a resume', () =>
    sandbox(async (tx) => {
      const accountId = await anAccount(tx)
      for (const [keep, status, expected] of [
        [3, 'COMPLETED', 3],
        [1, 'COMPLETED', 1],
        [undefined, 'COMPLETED', 0],
        [3, 'FAILED', 3],
        [1, 'FAILED', 2],
        [undefined, 'FAILED', 2],
      ] as const) {
        const spec = { args: keep === undefined ? {} : { keep_checkpoints: keep } } as TrainingSpec
        const { id: jobId } = await openJob(tx, accountId, spec)
        const steps = [10, 20, 30, 40, 50]
        for (const step of steps) {
          const id = randomUUID()
          await tx.artifacts.create({ id, jobId, attempt: 1, kind: 'checkpoint', step, specHash: 'h', files: [] })
          await tx.artifacts.commit(id)
        }
        await tx.trainingJobs.queue({ jobId, generation: 1, reason: null, message: null })
        const phases = ['LOADING DATA', 'TRAINING MODEL', 'SAVING MODEL', 'EVALUATING MODEL'] as const
        for (const to of status === 'COMPLETED' ? [...phases, status] : [status])
          await tx.trainingJobs.move({ jobId, generation: 1, to, reason: null, message: null, actor: 'test' })
        const old = await oldArtifacts(tx, jobId, new Date(0))
        const kept = (await tx.artifacts.listUsable(jobId, 'checkpoint')).filter(({ id }) => !old.includes(id))
        assert.deepEqual(
          kept.map(({ step }) => step),
          steps.toReversed().slice(0, expected),
          `${keep} ${status}`,
        )
        const asked = await tx.artifacts.checkpointOf(jobId, 40)
        assert.equal(asked?.step, 40)
      }
    }))

  test('rollouts go when their job has kept them long enough, but those that a resume would replay', () =>
    sandbox(async (tx) => {
      const accountId = await anAccount(tx)
      const hyperparameters = { keep_rollouts: 7, num_iterations: 2 }
      for (const [status, kept] of [
        ['COMPLETED', []],
        ['FAILED', [10, 11]],
      ] as const) {
        const { id: jobId } = await openJob(tx, accountId, {
          args: {},
          method: { hyperparameters },
        } as unknown as TrainingSpec)
        const commit = async (kind: ArtifactKind, step: number) => {
          const id = randomUUID()
          const files = [{ name: 'samples.jsonl', key: 'k', sizeBytes: 1, sha256: 'h' }]
          await tx.artifacts.create({ id, jobId, attempt: 1, kind, step, specHash: 'h', files })
          await tx.artifacts.commit(id)
          return { id, step }
        }
        await commit('checkpoint', 10)
        const rollouts = []
        const before = await tx.accounts.rolloutBytes(accountId)
        for (const step of [1, 9, 10, 11]) rollouts.push(await commit('rollouts', step))
        assert.equal(await tx.accounts.rolloutBytes(accountId), before + 4)
        await tx.trainingJobs.queue({ jobId, generation: 1, reason: null, message: null })
        const phases = ['LOADING DATA', 'TRAINING MODEL', 'SAVING MODEL', 'EVALUATING MODEL'] as const
        const old = async (dayMs: number) => (await tx.retention.oldRollouts(dayMs, 100_000)).map(({ id }) => id)
        assert.ok(!(await old(-1000)).includes(rollouts[0]?.id ?? ''), 'an open job keeps its rollouts')
        for (const to of status === 'COMPLETED' ? [...phases, status] : [status])
          await tx.trainingJobs.move({ jobId, generation: 1, to, reason: null, message: null, actor: 'test' })
        assert.ok(!(await old(1000)).includes(rollouts[0]?.id ?? ''), 'the job has just ended')
        const removed = await old(-1000)
        const left = rollouts.filter(({ id }) => !removed.includes(id)).map(({ step }) => step)
        assert.deepEqual(left, kept, status)
        await tx.retention.deleteArtifacts(removed)
        assert.equal(await tx.accounts.rolloutBytes(accountId), before + kept.length)
      }
    }))

  test('keeps the uploads of a running attempt, however long they take', () =>
    sandbox(async (tx) => {
      const { jobId, upload } = await jobWithUploads(tx)
      for (const kind of ['checkpoint', 'model'] as const) await upload(kind, 'uploading')
      assert.deepEqual(await oldArtifacts(tx, jobId, soon()), [])
    }))

  /** Ids that retention would remove, in order. */
  async function oldArtifacts(tx: Repositories, jobId: number, brokenBefore: Date): Promise<string[]> {
    const needed = { keptCheckpoints: 2, brokenBefore }
    const jobs = await tx.retention.jobsWithOldArtifacts(jobId - 1, needed, 1)
    if (!jobs.includes(jobId)) return []
    return (await tx.retention.oldArtifacts(jobId, needed)).map(({ id }) => id).toSorted()
  }

  async function jobWithUploads(tx: Repositories) {
    const { jobId } = await openAttempt(tx, await anAccount(tx))
    async function upload(kind: ArtifactKind, state: 'uploading' | 'committed' | 'corrupt') {
      const id = randomUUID()
      await tx.artifacts.create({ id, jobId, attempt: 1, kind, step: 1, specHash: 'h', files: [] })
      if (state !== 'uploading') await tx.artifacts.commit(id)
      if (state === 'corrupt') await tx.artifacts.markCorrupt(id)
      return id
    }
    return { jobId, upload }
  }
})
