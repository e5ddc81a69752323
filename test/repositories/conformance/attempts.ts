// Fences, claims, slots, what an attempt saved, and what decides whether it goes on.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { ArtifactKind } from '../../../src/domain/training-job.ts'
import type { Repositories } from '../../../src/repositories/database.ts'
import {
  acceptJob,
  after,
  ended,
  hash,
  openAccount,
  openAttempt,
  openNext,
  start,
  takeMessages,
  type Cases,
} from './subject.ts'

async function createArtifact({ artifacts }: Repositories, jobId: number, kind: ArtifactKind, step: number) {
  const id = randomUUID()
  const files = [{ name: 'a', key: 'b', sizeBytes: 1, sha256: 'c' }]
  const artifact = { id, jobId, attempt: 1, kind, step, specHash: 'spec', files }
  await artifacts.create(artifact)
  return artifact
}

export const attemptCases: Cases = {
  'an attempt that is opened becomes the newest and fences every older one': async ({ database, setNow }) => {
    const { job, attempt, position } = await openAttempt(database)
    assert.deepEqual(attempt, {
      ...{ id: attempt.id, jobId: job.id, number: 1, generation: 1, ordinal: 0, accountId: job.accountId },
      ...{ mode: 'train', runName: attempt.runName, runUid: null, claimId: null, phase: null, fromArtifactId: null },
      ...{
        fromStep: 0,
        fromAt: null,
        lastStep: null,
        savedStep: null,
        savedAt: null,
        truncatedRows: null,
        rowCounts: null,
        reportedCause: null,
        cause: null,
      },
      ...{ exitCode: null, message: null, createdAt: start, grantedAt: null, claimedAt: null, workingAt: null },
      ...{ heardAt: null, endedAt: null, fencedAt: null, releasedAt: null },
    })
    assert.deepEqual(await database.attempts.findByOrdinal(job.id, 1, 0), attempt)
    assert.equal(await database.attempts.findByOrdinal(job.id, 1, 1), null)
    await setNow(after(1))
    await openNext(database, job, 2)
    await setNow(after(2))
    await openNext(database, job, 3)
    assert.equal((await database.trainingJobs.get(job.id)).currentAttempt, 3)
    assert.deepEqual((await database.attempts.get(position)).fencedAt, after(1))
    assert.deepEqual((await database.attempts.get({ ...position, number: 2 })).fencedAt, after(2))
    await assert.rejects(database.attempts.get({ ...position, number: 4 }), { code: 'not_found' })
    await assert.rejects(openNext(database, job, 3), { code: 'P2002' })
  },

  'a claim belongs to a single process, of the newest attempt of a job that is not cancelled': async ({
    database,
    setNow,
  }) => {
    const { attempts, trainingJobs } = database
    const { job, position, tokenHash } = await openAttempt(database)
    assert.deepEqual([await attempts.exists(tokenHash), await attempts.exists(hash('no token'))], [true, false])
    assert.equal(await attempts.claim(hash('no token'), 'one'), null)
    assert.equal(await attempts.holdUnfenced(tokenHash), null, 'nothing is written before the claim')
    await setNow(after(1))
    const claimed = await attempts.claim(tokenHash, 'one')
    assert.deepEqual(claimed, { attempt: await attempts.get(position), first: true })
    const { claimId, claimedAt, heardAt, phase } = await attempts.get(position)
    assert.deepEqual([claimId, claimedAt, heardAt, phase], ['one', after(1), after(1), 'LOADING DATA'])
    await setNow(after(2))
    await attempts.update(position, { phase: 'TRAINING MODEL' })
    assert.equal((await attempts.claim(tokenHash, 'one'))?.first, false)
    const again = await attempts.get(position)
    assert.deepEqual([again.claimedAt, again.heardAt, again.phase], [after(1), after(2), 'TRAINING MODEL'])
    assert.equal(await attempts.claim(tokenHash, 'two'), null)
    assert.deepEqual(await attempts.holdUnfenced(tokenHash), again)
    const next = await openNext(database, job, 2)
    assert.deepEqual([await attempts.claim(tokenHash, 'one'), await attempts.holdUnfenced(tokenHash)], [null, null])
    await trainingJobs.requestCancel(job.id, 'Cancel.')
    assert.equal(await attempts.claim(next.tokenHash, 'three'), null)
  },

  'a fence and a release each end the writes; a cancel does not': async ({ database }) => {
    const { attempts, trainingJobs } = database
    const [fenced, released, cancelled] = [
      await openAttempt(database),
      await openAttempt(database),
      await openAttempt(database),
    ]
    for (const { tokenHash } of [fenced, released, cancelled]) await attempts.claim(tokenHash, 'one')
    await attempts.fence(fenced.position)
    await attempts.release(released.position, ended)
    await trainingJobs.requestCancel(cancelled.job.id, 'Cancel.')
    for (const { tokenHash } of [fenced, released])
      assert.deepEqual([await attempts.holdUnfenced(tokenHash), await attempts.claim(tokenHash, 'one')], [null, null])
    assert.ok(await attempts.holdUnfenced(cancelled.tokenHash))
    assert.equal(await attempts.claim(cancelled.tokenHash, 'one'), null)
  },

  'keeps the start that a program was told at its claim': async ({ database: { attempts, ...rest } }) => {
    const { position, tokenHash } = await openAttempt({ attempts, ...rest })
    const artifactId = randomUUID()
    await attempts.setStart(position, { artifactId, step: 10, at: after(1) })
    await attempts.setRunUid(position, 'uid')
    await attempts.claim(tokenHash, 'one')
    await attempts.setStart(position, { artifactId: null, step: 20, at: null })
    const { fromArtifactId, fromStep, fromAt, runUid } = await attempts.get(position)
    assert.deepEqual([fromArtifactId, fromStep, fromAt, runUid], [artifactId, 10, after(1), 'uid'])
  },

  'each report is a sign of life; start-up ends with the first phase beyond loading': async ({ database, setNow }) => {
    const { attempts } = database
    const { position } = await openAttempt(database)
    const report = async (seconds: number, data: Parameters<typeof attempts.update>[1]) => {
      await setNow(after(seconds))
      await attempts.update(position, data)
      const { heardAt, workingAt } = await attempts.get(position)
      return [heardAt, workingAt]
    }
    assert.deepEqual(await report(1, { message: 'A message.' }), [after(1), null])
    assert.deepEqual(await report(2, { phase: 'LOADING DATA' }), [after(2), null])
    assert.deepEqual(await report(3, { phase: 'TRAINING MODEL' }), [after(3), after(3)])
    assert.deepEqual(await report(4, { lastStep: 5, savedStep: 4, savedAt: after(2) }), [after(4), after(3)])
    const { message, lastStep, savedStep, savedAt } = await attempts.get(position)
    assert.deepEqual([message, lastStep, savedStep, savedAt], ['A message.', 5, 4, after(2)])
    await assert.rejects(attempts.update({ ...position, number: 9 }, { lastStep: 1 }), { code: 'P2025' })
  },

  'the first reason to end an attempt stands until its release confirms how it ended': async ({
    database,
    setNow,
    heard,
  }) => {
    const { attempts } = database
    const { position } = await openAttempt(database)
    await attempts.recordEnd(position, { cause: 'stalled', exitCode: null, message: 'Silent.' })
    await attempts.recordEnd(position, ended)
    const { cause, message, endedAt } = await attempts.get(position)
    assert.deepEqual([cause, message, endedAt], ['stalled', 'Silent.', null])
    await setNow(after(3))
    await heard()
    await attempts.release(position, ended)
    assert.deepEqual(await heard(), ['slots'])
    const released = await attempts.get(position)
    const times = { endedAt: after(3), fencedAt: after(3), releasedAt: after(3) }
    assert.deepEqual({ ...released, ...ended, ...times }, released)
    await setNow(after(4))
    await attempts.release(position, { cause: 'finished', exitCode: 0, message: '' })
    await attempts.fence(position)
    await attempts.noteLog(position, 12)
    await attempts.recordEnd(position, { cause: 'stalled', exitCode: null, message: '' })
    assert.deepEqual(await attempts.get(position), released)
  },

  'slots go to the account with the fewest running attempts, then to the oldest; workflows are told': async ({
    database,
    setNow,
    heard,
  }) => {
    const [busy, idle] = [await openAccount(database), await openAccount(database)]
    const all = [await openAttempt(database, busy)]
    for (const [seconds, account] of [busy, busy, idle].entries()) {
      await setNow(after(seconds + 1))
      all.push(await openAttempt(database, account))
    }
    await takeMessages(database)
    await heard()
    const grant = async (slots: number | null, askingJobId?: number) => {
      await database.transaction((tx) => tx.attempts.grantSlots(slots, askingJobId))
      const told = (await takeMessages(database)).map(([kind, payload]) => ({ kind, ...payload }))
      const attempts = await Promise.all(all.map(({ position }) => database.attempts.get(position)))
      return { granted: attempts.flatMap(({ grantedAt }, index) => (grantedAt ? [index] : [])), told }
    }
    const signal = { kind: 'slot', attempt: 1 }
    assert.deepEqual(await grant(0), { granted: [], told: [] })
    assert.deepEqual(await heard(), [])
    assert.deepEqual(await grant(2), { granted: [0, 3], told: [signal, signal] })
    assert.deepEqual(await heard(), ['outbox'])
    assert.deepEqual(await grant(2), { granted: [0, 3], told: [] })
    await database.attempts.release(all[0]?.position ?? assert.fail(), ended)
    assert.deepEqual(await grant(2, all[1]?.job.id), { granted: [0, 1, 3], told: [] })
    await database.attempts.fence(all[2]?.position ?? assert.fail())
    assert.deepEqual(await grant(null), { granted: [0, 1, 3], told: [] })
  },

  'one slot goes round the accounts, however many jobs each has': async ({ database, setNow }) => {
    const [large, small] = [await openAccount(database), await openAccount(database)]
    const all: Awaited<ReturnType<typeof openAttempt>>[] = []
    for (const [seconds, account] of [large, large, large, small, small].entries()) {
      await setNow(after(seconds))
      all.push(await openAttempt(database, account))
    }
    const order: number[] = []
    for (let seconds = 10; order.length < all.length; seconds++) {
      await setNow(after(seconds))
      await database.transaction((tx) => tx.attempts.grantSlots(1))
      const attempts = await Promise.all(all.map(({ position }) => database.attempts.get(position)))
      const holder = attempts.findIndex(({ grantedAt, releasedAt }) => grantedAt !== null && releasedAt === null)
      order.push(holder)
      await database.attempts.release(all[holder]?.position ?? assert.fail(), ended)
    }
    assert.deepEqual(order, [0, 3, 1, 4, 2])
  },

  'a job whose data took longer to check gets its slot in the order of acceptance': async ({ database, setNow }) => {
    const account = await openAccount(database)
    await setNow(after(10))
    const early = await openAttempt(database, account)
    const late = await acceptJob(database, account)
    const { position } = await openNext(database, late, 1, 1, after(5))
    await database.transaction((tx) => tx.attempts.grantSlots(1))
    const granted = async (at: typeof position) => (await database.attempts.get(at)).grantedAt !== null
    assert.deepEqual([await granted(early.position), await granted(position)], [false, true])
  },

  'a workflow is told again of a slot that seems unused, less and less often': async ({ database, setNow, heard }) => {
    const { position, tokenHash } = await openAttempt(database)
    await takeMessages(database)
    await database.transaction((tx) => tx.attempts.grantSlots(null, position.jobId))
    await heard()
    const toldAt = async (seconds: number) => {
      await setNow(after(seconds))
      await database.attempts.resendSlotSignals()
      return [(await takeMessages(database)).length, (await heard()).length]
    }
    assert.deepEqual(
      [await toldAt(59), await toldAt(60), await toldAt(61)],
      [
        [0, 0],
        [1, 1],
        [0, 0],
      ],
    )
    assert.deepEqual(
      [await toldAt(119), await toldAt(120), await toldAt(121)],
      [
        [0, 0],
        [1, 1],
        [0, 0],
      ],
    )
    await database.attempts.claim(tokenHash, 'one')
    assert.deepEqual(
      [await toldAt(180), await toldAt(300)],
      [
        [0, 0],
        [1, 1],
      ],
    )
    await database.attempts.release(position, ended)
    await heard()
    assert.deepEqual(await toldAt(3000), [0, 0])
  },

  'another job waits for a slot only if it would get it': async ({ database, setNow }) => {
    const [mine, others] = [await openAccount(database), await openAccount(database)]
    const running = await openAttempt(database, mine)
    const grant = () => database.transaction((tx) => tx.attempts.grantSlots(null))
    const isWaited = () => database.attempts.othersWait(running.position)
    await grant()
    assert.equal(await isWaited(), false)
    const other = await openAttempt(database, others)
    assert.equal(await isWaited(), true)
    await grant()
    assert.equal(await isWaited(), false, 'on a cluster it has its minute to start')
    await setNow(after(61))
    assert.equal(await isWaited(), false, 'it holds as many as this account')
    const ofMine = await openAttempt(database, mine)
    assert.equal(await isWaited(), true)
    await database.attempts.fence(ofMine.position)
    assert.equal(await isWaited(), false)
    const second = await openAttempt(database, mine)
    await grant()
    await setNow(after(122))
    assert.equal(await isWaited(), true)
    await database.attempts.claim(second.tokenHash, 'one')
    assert.equal(await isWaited(), true, 'the other account holds fewer')
    await database.attempts.claim(other.tokenHash, 'one')
    assert.equal(await isWaited(), false)
  },

  'a look at an attempt measures by the database’s clock': async ({ database, setNow }) => {
    const { attempts, artifacts, trainingSteps } = database
    const { job, position, tokenHash } = await openAttempt(database)
    const noStep = { step: null, loss: null }
    const unclaimed = { phase: null, ranForMs: 0, silentForMs: null, medianStepMs: null, jobRanForMs: 0, ...noStep }
    assert.deepEqual(await attempts.lookAt(position), unclaimed)
    await setNow(after(10))
    await attempts.claim(tokenHash, 'one')
    await setNow(after(30))
    const loading = {
      phase: 'LOADING DATA',
      ranForMs: 20_000,
      silentForMs: 20_000,
      medianStepMs: null,
      jobRanForMs: 20_000,
      ...noStep,
    }
    assert.deepEqual(await attempts.lookAt(position), loading)
    const { id } = await createArtifact(database, job.id, 'checkpoint', 1)
    await setNow(after(40))
    assert.equal((await attempts.lookAt(position)).silentForMs, 10_000)
    await artifacts.commit(id)
    const row = { loss: 1, learning_rate: 1, epoch: 1, flops: 1, remaining_time: 30 }
    // The oldest of 22 are slow: only the newest 20 count.
    const times = [100, 100, ...Array.from({ length: 10 }, () => 2), ...Array.from({ length: 10 }, () => 3)]
    await trainingSteps.upsertMany(
      job.id,
      1,
      times.map((iter_time, index) => ({ ...row, step: index + 1, iter_time })),
    )
    assert.equal((await attempts.lookAt(position)).medianStepMs, 2500)
    await attempts.release(position, ended)
    const next = await openNext(database, job, 2)
    await attempts.claim(next.tokenHash, 'two')
    await setNow(after(60))
    // It starts from the beginning, so nothing holds that was seen before its claim.
    const { steps: _steps, ...news } = await trainingSteps.since(job.id, { attempt: 1, step: 20 })
    assert.deepEqual(news, { attempt: 2, keptStep: 0 })
    const looked = {
      phase: 'LOADING DATA',
      ranForMs: 20_000,
      silentForMs: 20_000,
      medianStepMs: 2500,
      jobRanForMs: 50_000,
      step: 22,
      loss: 1,
    }
    assert.deepEqual(await attempts.lookAt(next.position), looked)
    await assert.rejects(attempts.lookAt({ ...position, number: 9 }))
  },

  'an artifact counts from its commit until it is found corrupt': async ({ database, setNow }) => {
    const { artifacts } = database
    const { job } = await openAttempt(database)
    const uncommitted = await createArtifact(database, job.id, 'checkpoint', 9)
    const [early, late, repeated] = [
      await createArtifact(database, job.id, 'checkpoint', 1),
      await createArtifact(database, job.id, 'checkpoint', 2),
      await createArtifact(database, job.id, 'checkpoint', 1),
    ]
    const model = await createArtifact(database, job.id, 'model', 3)
    const plain = { ...uncommitted, createdAt: start, committedAt: null, verifiedAt: null }
    assert.deepEqual(await artifacts.find(job.id, uncommitted.id), plain)
    assert.equal(await artifacts.find(job.id + 1, uncommitted.id), null)
    assert.equal(await artifacts.newestModel(job.id), null)
    for (const [seconds, { id }] of [early, late, repeated, model].entries()) {
      await setNow(after(seconds))
      assert.deepEqual([await artifacts.commit(id), await artifacts.commit(id)], [true, false])
    }
    const usable = async (limit?: number) =>
      (await artifacts.listUsable(job.id, 'checkpoint', limit)).map(({ id }) => id)
    assert.deepEqual(await usable(), [late.id, repeated.id, early.id])
    assert.deepEqual(await usable(1), [late.id])
    await artifacts.markCorrupt(late.id)
    await artifacts.markVerified(early.id)
    assert.deepEqual(await usable(), [repeated.id, early.id])
    assert.deepEqual((await artifacts.find(job.id, early.id))?.verifiedAt, after(3))
    assert.deepEqual(await artifacts.newestModel(job.id), {
      ...model,
      createdAt: start,
      committedAt: after(3),
      verifiedAt: null,
    })
  },

  'an evaluation replaces the one before': async ({ database }) => {
    const { artifacts } = database
    const { job } = await openAttempt(database)
    const { id } = await createArtifact(database, job.id, 'model', 1)
    const row = (input: string) => ({ split: 'train' as const, input, expected: 'b', tuned: 'c', base: 'd' })
    assert.equal(await artifacts.isEvaluated(id), false)
    await artifacts.replaceEvaluation(id, [row('one'), row('two')])
    await artifacts.replaceEvaluation(id, [row('three')])
    assert.deepEqual([await artifacts.isEvaluated(id), await artifacts.listEvaluation(id)], [true, [row('three')]])
  },

  'a model is published once, by its name and by what it was made from': async ({ database }) => {
    const { job } = await openAttempt(database)
    const [one, two] = [
      await createArtifact(database, job.id, 'model', 1),
      await createArtifact(database, job.id, 'model', 2),
    ]
    const model = {
      name: 'one',
      accountId: job.accountId,
      jobId: job.id,
      artifactId: one.id,
      baseModel: 'm',
      files: one.files,
    }
    await database.models.publish(model)
    await database.models.publish({ ...model, baseModel: 'another' })
    await database.models.publish({ ...model, name: 'two' })
    await database.models.publish({ ...model, name: 'three', artifactId: two.id })
    const find = (name: string, accountId = job.accountId) => database.models.find(accountId, name)
    assert.deepEqual(await find('one'), { ...model, createdAt: start, learned: null })
    assert.equal((await find('three'))?.artifactId, two.id)
    assert.deepEqual([await find('two'), await find('one', randomUUID())], [null, null])
    assert.deepEqual([await database.models.jobOf('three'), await database.models.jobOf('two')], [job.id, null])
  },
}
