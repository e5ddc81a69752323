// The outbox, and what transactions promise one another.
import assert from 'node:assert/strict'
import { acceptJob, after, ended, hash, openAccount, openAttempt, start, takeMessages, type Cases } from './subject.ts'
import type { Subject } from './subject.ts'

const phase = (workflowId: string, attempt: number) =>
  ({ workflowId, kind: 'phase', generation: 1, payload: { attempt, phase: 'LOADING DATA' } }) as const

/** Begins a transaction. @returns how to end it, once `work` is done and nothing is committed yet */
async function begin<T>(
  { database }: Subject,
  work: (tx: Parameters<Parameters<Subject['database']['transaction']>[0]>[0]) => Promise<T>,
) {
  const isDone = Promise.withResolvers<T>()
  const mayEnd = Promise.withResolvers<void>()
  const all = database.transaction(async (tx) => {
    isDone.resolve(await work(tx))
    await mayEnd.promise
  })
  all.catch(isDone.reject)
  const answer = await isDone.promise
  const commit = () => (mayEnd.resolve(), all)
  const rollBack = async () => {
    mayEnd.reject(new Error('rolled back'))
    await assert.rejects(all, { message: 'rolled back' })
  }
  return { answer, commit, rollBack }
}

export const transactionCases: Cases = {
  'messages of one workflow are handed out one at a time, in order': async ({
    database: { outbox },
    setNow,
    heard,
  }) => {
    assert.equal(await outbox.dueInMs(), null)
    for (const message of [phase('one', 1), phase('one', 2), phase('two', 3)]) await outbox.add(message)
    assert.deepEqual(await heard(), ['outbox'])
    assert.equal(await outbox.dueInMs(), null, 'what is due is there to be claimed')
    const claim = async (limit = 10) => (await outbox.claim(limit)).toSorted((a, b) => Number(a.id - b.id))
    const [first] = await claim(1)
    assert.deepEqual(first, { ...phase('one', 1), id: 1n, createdAt: start, deliveryCount: 1 })
    assert.deepEqual(await claim(), [{ ...phase('two', 3), id: 3n, createdAt: start, deliveryCount: 1 }])
    assert.deepEqual([await claim(), await outbox.dueInMs()], [[], 30_000])
    await outbox.markDelivered(1n)
    assert.equal(await outbox.dueInMs(), 30_000)
    assert.deepEqual(
      (await claim()).map(({ id }) => id),
      [2n],
    )
    await outbox.retryLater(2n, { afterMs: 90_000, error: 'An error.' })
    await setNow(after(30))
    assert.deepEqual(
      (await claim()).map(({ id, deliveryCount }) => [id, deliveryCount]),
      [[3n, 2]],
    )
    await outbox.markDelivered(3n)
    await setNow(after(89))
    assert.deepEqual([await claim(), await outbox.dueInMs()], [[], 1000])
    await setNow(after(90))
    assert.deepEqual(
      (await claim()).map(({ id, deliveryCount }) => [id, deliveryCount]),
      [[2n, 2]],
    )
    await outbox.markDelivered(2n)
    assert.equal(await outbox.dueInMs(), null)
  },

  'leaves a message to the transaction that claims it': async (subject) => {
    const { outbox } = subject.database
    await outbox.add(phase('one', 1))
    const open = await begin(subject, (tx) => tx.outbox.claim(10))
    assert.deepEqual(await outbox.claim(10), [])
    await open.rollBack()
    assert.deepEqual(
      (await outbox.claim(10)).map(({ deliveryCount }) => deliveryCount),
      [1],
    )
  },

  'a transaction is seen and notified of once it commits, whole': async (subject) => {
    const { database, heard } = subject
    const { job, tokenHash, position } = await openAttempt(database)
    await takeMessages(database)
    await heard()
    const open = await begin(subject, async (tx) => {
      await tx.attempts.claim(tokenHash, 'one')
      await tx.outbox.add(phase('one', 1))
      await tx.auditEvents.add({
        ...{ accountId: job.accountId, apiKeyId: 'key', action: 'job.test' },
        ...{ target: null, requestId: null, address: null, person: null },
      })
      return (await tx.attempts.get(position)).claimId
    })
    assert.equal(open.answer, 'one', 'it sees its own writes')
    assert.equal((await database.attempts.get(position)).claimId, null)
    assert.deepEqual([await database.outbox.claim(10), await heard()], [[], []])
    await open.commit()
    assert.equal((await database.attempts.get(position)).claimId, 'one')
    assert.deepEqual([(await takeMessages(database)).length, await heard()], [1, ['outbox']])
  },

  'a rolled back transaction leaves nothing but the numbers that it drew': async (subject) => {
    const { database, heard } = subject
    const account = await openAccount(database)
    const open = await begin(subject, (tx) => acceptJob(tx, account))
    assert.equal(open.answer.id, 1)
    await open.rollBack()
    assert.deepEqual([await database.outbox.claim(10), await heard()], [[], []])
    assert.equal(await database.trainingJobs.find(account.accountId, 1), null)
    assert.equal((await acceptJob(database, account)).id, 2)
  },

  'commands to one job take turns, and the later sees what the earlier did': async (subject) => {
    const { database } = subject
    const { id, accountId } = await acceptJob(database, await openAccount(database))
    for (const hold of [
      (tx: typeof database) => tx.trainingJobs.lock(accountId, id),
      (tx: typeof database) => tx.trainingJobs.hold(id),
      async (tx: typeof database) => (await tx.accounts.hold(accountId), tx.trainingJobs.get(id)),
    ]) {
      const { resumeCount } = await database.trainingJobs.get(id)
      const first = await begin(subject, async (tx) => {
        await tx.accounts.hold(accountId)
        await tx.trainingJobs.hold(id)
        await tx.trainingJobs.countResume(id)
      })
      let isHeld = false
      const second = database.transaction(async (tx) => {
        const job = await hold(tx as typeof database)
        isHeld = true
        return job?.resumeCount
      })
      await database.now()
      assert.equal(isHeld, false)
      await first.commit()
      assert.equal(await second, resumeCount + 1)
    }
  },

  'a write of a pod and the fence of its attempt take turns': async (subject) => {
    const { attempts } = subject.database
    const { position, tokenHash } = await openAttempt(subject.database)
    await attempts.claim(tokenHash, 'one')
    const writing = await begin(subject, (tx) => tx.attempts.holdUnfenced(tokenHash))
    assert.equal(writing.answer?.number, 1)
    let isFenced = false
    const fencing = attempts.fence(position).then(() => (isFenced = true))
    await subject.database.now()
    assert.equal(isFenced, false)
    await writing.commit()
    await fencing
    assert.equal(await attempts.holdUnfenced(tokenHash), null)
    const releasing = await begin(subject, (tx) => tx.attempts.release(position, ended))
    const late = attempts.holdUnfenced(tokenHash)
    await releasing.commit()
    assert.equal(await late, null)
  },

  'a single request makes the job when two requests have the same key': async (subject) => {
    const { database } = subject
    const { accountId } = await openAccount(database)
    const key = { accountId, key: 'key' }
    const first = await begin(subject, (tx) => tx.idempotencyKeys.claim(key, hash('request'), 60_000))
    const second = database.idempotencyKeys.claim(key, hash('request'), 60_000)
    await first.commit()
    assert.equal(first.answer, null)
    assert.ok(await second)
  },

  'grants of slots take turns': async (subject) => {
    const { database } = subject
    const [one, two] = [await openAttempt(database), await openAttempt(database)]
    const first = await begin(subject, (tx) => tx.attempts.grantSlots(1))
    const second = database.transaction((tx) => tx.attempts.grantSlots(1))
    await first.commit()
    await second
    const granted = await Promise.all([one, two].map(({ position }) => database.attempts.get(position)))
    assert.equal(granted.filter(({ grantedAt }) => grantedAt !== null).length, 1)
  },
}
