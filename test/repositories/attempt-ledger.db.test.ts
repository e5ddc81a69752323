// The rows that the ledger of an attempt is computed from, on Postgres. Each test runs in a transaction that is rolled back.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import { sha256 } from '../../src/domain/identifiers.ts'
import type { ArtifactKind, AttemptMode, TrainingSpec } from '../../src/domain/training-job.ts'
import type { Repositories } from '../../src/repositories/database.ts'
import type { PodCtx } from '../../src/services/context.ts'
import { listAttempts } from '../../src/services/training-jobs/list-attempts.ts'
import { listJobEvents } from '../../src/services/training-jobs/list-events.ts'
import { commitArtifact, createArtifact } from '../../src/services/attempt-api/artifacts.ts'
import { reportPhase } from '../../src/services/attempt-api/report-phase.ts'
import { anAccount, openJob } from '../support/job-rows.ts'
import { createSandbox, openDatabase } from '../support/sandbox.ts'
import { contextOf } from '../support/service-context.ts'

const spec = { gpus: 2, nodes: 2 } as TrainingSpec

suite('the ledger of attempts', () => {
  const database = openDatabase()

  const sandbox = createSandbox(database)

  /** A job, its attempts and what their pods say; the object store holds whatever they claim to have put there. */
  async function aJob(tx: Repositories) {
    const accountId = await anAccount(tx)
    const { id: jobId } = await openJob(tx, accountId, spec)
    const deps = {
      database: { ...tx, transaction: <T>(work: (tx: Repositories) => Promise<T>) => work(tx) },
      storage: {
        partBytes: 100,
        presignPodPut: (key: string) => Promise.resolve(key),
        stat: () => Promise.resolve({ sizeBytes: 1 }),
      },
    }

    async function attempt(
      number: number,
      { mode = 'train', isClaimed = true }: { mode?: AttemptMode; isClaimed?: boolean } = {},
    ) {
      const tokenHash = sha256(randomUUID())
      const position = { jobId, number }
      const named = { id: randomUUID(), runName: `ft-${jobId}-a${number}`, tokenHash }
      await tx.attempts.open({ ...named, ...position, generation: 1, ordinal: number - 1, accountId, mode })
      const pod = contextOf<PodCtx>({ deps, tokenHash })
      const claim = () => tx.attempts.claim(tokenHash, 'one')
      if (isClaimed) await claim()
      const upload = async (kind: ArtifactKind, step: number) => {
        const input = { kind, step, files: [{ name: 'a', sizeBytes: 1, sha256: 'h' }] }
        return (await createArtifact({ pod, input })).artifactId
      }
      return {
        claim,
        upload,
        commit: (artifactId: string) => commitArtifact({ pod, input: { artifactId } }),
        reach: (phase: 'TRAINING MODEL' | 'SAVING MODEL') => reportPhase({ pod, input: { phase } }),
        start: (artifactId: string | null, step: number, at: Date | null) =>
          tx.attempts.setStart(position, { artifactId, step, at }),
        seen: () => tx.attempts.get(position),
      }
    }
    return { jobId, ctx: contextOf({ deps, accountId }), attempt }
  }

  test('counts a saved step once, by the newest; a repeat changes nothing', () =>
    sandbox(async (tx) => {
      const { jobId, ctx, attempt } = await aJob(tx)
      const pod = await attempt(1)
      assert.equal((await pod.seen()).workingAt, null)
      await pod.reach('TRAINING MODEL')
      const { workingAt } = await pod.seen()
      assert.ok(workingAt)
      const uploads = [await pod.upload('checkpoint', 10), await pod.upload('checkpoint', 20)] as const
      // The newer one was faster.
      for (const id of [uploads[1], uploads[0], uploads[1]]) await pod.commit(id)
      await pod.reach('SAVING MODEL')
      const seen = await pod.seen()
      const newest = await tx.artifacts.find(jobId, uploads[1])
      assert.deepEqual([seen.savedStep, seen.savedAt, seen.workingAt], [20, newest?.createdAt, workingAt])
      const { events } = await listJobEvents({ ctx, input: { jobId, limit: 100 } })
      assert.equal(events.filter(({ reason }) => reason === 'checkpoint_committed').length, 2)
    }))

  test('work is repeated from where the earliest claimed training after it began', () =>
    sandbox(async (tx) => {
      const { jobId, attempt } = await aJob(tx)
      const repeated = async (range = { from: 1, to: 9 }) =>
        Object.fromEntries(
          [...(await tx.attempts.repeatedFrom(jobId, range))].map(([number, at]) => [number, at.getTime()]),
        )
      const first = await attempt(1)
      const [older, newer] = [await first.upload('checkpoint', 10), await first.upload('checkpoint', 20)]
      const second = await attempt(2, { isClaimed: false })
      await second.start(newer, 20, new Date(2000))
      assert.deepEqual(await repeated(), {}, 'nothing runs before the claim')
      await second.claim()
      assert.deepEqual(await repeated(), { 1: 2000 })
      const third = await attempt(3, { isClaimed: false })
      await third.start(older, 10, new Date(1000))
      await third.claim()
      await attempt(4, { mode: 'evaluate' })
      assert.deepEqual(await repeated(), { 1: 1000, 2: 1000 })
      const fifth = await attempt(5, { isClaimed: false })
      await fifth.start(null, 0, null)
      await fifth.claim()
      assert.deepEqual(await repeated(), { 1: 0, 2: 0, 3: 0, 4: 0 })
      assert.deepEqual(await repeated({ from: 2, to: 3 }), { 2: 0, 3: 0 })
    }))

  test('attempts and events come in pages without loss or repeat; those of another account are not found', () =>
    sandbox(async (tx) => {
      const { jobId, ctx, attempt } = await aJob(tx)
      for (const number of [1, 2, 3]) await attempt(number)
      const numbers: number[] = []
      for (let before: number | undefined; ;) {
        const { attempts, next } = await listAttempts({ ctx, input: { jobId, before, limit: 2 } })
        numbers.push(...attempts.map(({ number }) => number))
        assert.ok(attempts.every(({ gpuCount }) => gpuCount === 4))
        if (next === null) break
        before = next
      }
      assert.deepEqual(numbers, [3, 2, 1])
      const all = await listJobEvents({ ctx, input: { jobId, limit: 100 } })
      const first = await listJobEvents({ ctx, input: { jobId, limit: 1 } })
      const rest = await listJobEvents({ ctx, input: { jobId, limit: 100, after: first.next ?? assert.fail() } })
      assert.deepEqual([...first.events, ...rest.events], all.events)
      const stranger = { ...ctx, accountId: randomUUID() }
      for (const list of [listAttempts, listJobEvents])
        await assert.rejects(list({ ctx: stranger, input: { jobId, limit: 1 } }), /There is no training job/)
    }))
})
