// Accounts, data sets, idempotency keys, and the acceptance of a job.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { isUniqueViolation } from '../../../src/repositories/database.ts'
import { acceptance, acceptJob, after, hash, openAccount, start, takeMessages, type Cases } from './subject.ts'

export const acceptanceCases: Cases = {
  'an account has its name and its priority': async ({ database: { accounts } }) => {
    const { id } = await accounts.create('a name', 'high')
    assert.deepEqual(await accounts.find(id), { id, name: 'a name', priority: 'high', createdAt: start })
    assert.equal(await accounts.find(randomUUID()), null)
    assert.equal(await accounts.storedBytes(id), 0)
  },

  'only open jobs of the account itself fill it': async ({ database }) => {
    const [account, other] = [await openAccount(database), await openAccount(database)]
    const [first] = [await acceptJob(database, account), await acceptJob(database, account)]
    const isFull = (count: number) => database.accounts.hasOpenJobs(account.accountId, count)
    assert.deepEqual([await isFull(2), await isFull(3)], [true, false])
    assert.equal(await database.accounts.hasOpenJobs(other.accountId, 1), false)
    const end = { to: 'FAILED', reason: null, message: null, actor: 'test' } as const
    await database.trainingJobs.move({ jobId: first.id, generation: 1, ...end })
    assert.deepEqual([await isFull(1), await isFull(2)], [true, false])
  },

  'a version of a data set is opened once, and is its account’s': async ({ database: { accounts, datasets } }) => {
    const [{ id: accountId }, { id: other }] = [await accounts.create('one'), await accounts.create('two')]
    const version = { id: randomUUID(), accountId, datasetId: 'data', version: 1, uploadKey: 'key' }
    await datasets.createVersion(version)
    const found = { ...version, usedAt: null, announcedRows: null, wasSeen: false }
    assert.deepEqual(await datasets.findVersion(accountId, version.id), found)
    assert.equal(await datasets.findVersion(other, version.id), null)
    await assert.rejects(datasets.createVersion({ ...version, id: randomUUID() }), isUniqueViolation)
    assert.equal(await datasets.report(version.id), null)
    await datasets.saveReport(version.id, { rows: 3 } as never)
    assert.deepEqual(await datasets.report(version.id), { rows: 3 })
    assert.equal(await datasets.columns(version.id), null)
    await datasets.noteSize(version.id, 5)
    assert.equal((await datasets.findVersion(accountId, version.id))?.wasSeen, true)
    assert.deepEqual([await accounts.storedBytes(accountId), await accounts.storedBytes(other)], [5, 0])
    await datasets.noteSize(version.id, null)
    assert.equal(await accounts.storedBytes(accountId), 0)
  },

  'a key is one request’s until it is answered, released or abandoned': async ({ database, setNow }) => {
    const { accountId } = await openAccount(database)
    const { idempotencyKeys: keys } = database
    const key = { accountId, key: 'key' }
    const claim = async (text: string) => {
      const holder = await keys.claim(key, hash(text), 60_000)
      return holder && { hash: Buffer.from(holder.requestHash), response: holder.response }
    }
    assert.equal(await keys.find(key), null)
    assert.equal(await claim('one'), null)
    assert.deepEqual(await claim('one'), { hash: hash('one'), response: null })
    assert.deepEqual((await keys.find(key))?.response, null)
    await setNow(after(60))
    assert.ok(await claim('one'), 'the claim lasts to its last instant')
    assert.ok(await keys.find(key))
    await setNow(after(61))
    assert.equal(await keys.find(key), null)
    assert.ok(await claim('two'), 'only the same request takes an abandoned key over')
    assert.equal(await claim('one'), null)
    await keys.release(key)
    assert.equal(await claim('two'), null)
    assert.deepEqual([await keys.answer(key, { a: 1 }), await keys.answer(key, { a: 2 })], [true, false])
    await keys.release(key)
    await setNow(after(61 + 24 * 3600))
    assert.deepEqual((await keys.find(key))?.response, { a: 1 })
    assert.deepEqual(await claim('three'), { hash: hash('two'), response: { a: 1 } })
    await setNow(after(62 + 24 * 3600))
    assert.equal(await keys.find(key), null)
    assert.equal(await claim('three'), null)
  },

  'a claim that is renewed lasts longer, for its own request only': async ({ database, setNow }) => {
    const { accountId } = await openAccount(database)
    const { idempotencyKeys: keys } = database
    const key = { accountId, key: 'key' }
    const claim = async (text: string) => (await keys.claim(key, hash(text), 60_000)) === null
    assert.ok(await claim('one'))
    await setNow(after(50))
    await keys.renew(key, hash('two'), 60_000)
    await keys.renew(key, hash('one'), 60_000)
    await setNow(after(100))
    assert.equal(await claim('one'), false)
    await setNow(after(111))
    assert.ok(await claim('one'))
    await keys.answer(key, { a: 1 })
    await keys.renew(key, hash('one'), 60_000)
    assert.deepEqual((await keys.find(key))?.response, { a: 1 })
  },

  'an accepted job has its row, events, message and the answer of its key, at once': async ({ database, heard }) => {
    const account = await openAccount(database)
    const { accountId, version } = account
    const notes = [{ code: 'a_code', message: 'A message.' }]
    const key = { key: 'key', requestHash: hash('request') }
    const request = acceptance(account, { idempotency: key })
    const accepted = await database.jobAcceptance.accept({ ...request, job: { ...request.job, notes } }, 1)
    assert.deepEqual(accepted, { outcome: 'accepted', jobId: 1, datasetId: 'data' })
    const { apiKeyId: _apiKeyId, notes: _notes, ...job } = request.job
    assert.deepEqual(await database.trainingJobs.get(1), {
      ...{ ...job, id: 1, datasetId: 'data', datasetVersionId: version.id, status: 'CREATED', statusReason: null },
      ...{ statusMessage: null, preparedData: null, generation: 1, currentAttempt: 0, resumeCount: 0 },
      ...{ cancelRequestedAt: null, pauseRequestedAt: null, modelName: null, createdAt: start, finishedAt: null },
      importedJobId: null,
    })
    const empty = { at: start, status: null, attempt: null, reason: null, message: null }
    assert.deepEqual(await database.jobEvents.list(1, { after: null, limit: 10 }), [
      { ...empty, id: '1', kind: 'status', status: 'CREATED', actor: 'key:a key' },
      { ...empty, id: '2', kind: 'note', reason: 'a_code', message: 'A message.', actor: 'api' },
    ])
    assert.deepEqual(await heard(), ['outbox'])
    assert.deepEqual(await takeMessages(database), [['start', { jobId: 1 }]])
    const answer = { jobId: 1, status: 'CREATED', datasetId: 'data', warnings: ['A message.'] }
    assert.deepEqual((await database.idempotencyKeys.find({ accountId, key: 'key' }))?.response, answer)
    const { usedAt, wasSeen } = (await database.datasets.findVersion(accountId, version.id)) ?? {}
    assert.deepEqual([usedAt, wasSeen], [start, true])
  },

  'a refused job leaves nothing': async ({ database, heard }) => {
    const [used, other] = [await openAccount(database), await openAccount(database)]
    await acceptJob(database, used)
    const account = { ...used, version: { ...used.version, id: randomUUID(), version: 2 } }
    await database.datasets.createVersion(account.version)
    await takeMessages(database)
    await heard()
    const { version } = acceptance(account)
    const outcome = async (changes: Parameters<typeof acceptance>[1], maxOpen = 2) =>
      (await database.jobAcceptance.accept(acceptance(account, changes), maxOpen)).outcome
    assert.equal(await outcome({}, 1), 'no_room')
    assert.equal(await outcome({ version: acceptance(other).version }), 'no_data')
    assert.equal(await outcome({ version: { ...version, uploadKey: 'another' } }), 'no_data')
    assert.equal(await outcome({ version: { ...version, datasetId: 'another' } }), 'no_data')
    assert.equal(await outcome({ version: { ...version, wasSeen: false } }), 'unseen')
    const key = { accountId: account.accountId, key: 'key' }
    await database.idempotencyKeys.claim(key, hash('request'), 60_000)
    const idempotency = { key: 'key', requestHash: hash('request') }
    assert.equal(await outcome({ idempotency }), 'key_taken')
    assert.deepEqual([await takeMessages(database), await heard()], [[], []])
    assert.equal((await database.datasets.findVersion(account.accountId, version.id))?.usedAt, null)
    assert.equal(await database.accounts.hasOpenJobs(account.accountId, 2), false)
  },

  'a key makes one job; only the same request takes over an abandoned claim of it': async ({ database, setNow }) => {
    const account = await openAccount(database)
    const key = { accountId: account.accountId, key: 'key' }
    const outcome = async (text: string) => {
      const idempotency = { key: 'key', requestHash: hash(text) }
      return (await database.jobAcceptance.accept(acceptance(account, { idempotency }), 10)).outcome
    }
    await database.idempotencyKeys.claim(key, hash('one'), 60_000)
    await setNow(after(60))
    assert.deepEqual([await outcome('one'), await outcome('two')], ['key_taken', 'key_taken'])
    await setNow(after(61))
    assert.deepEqual(
      [await outcome('two'), await outcome('one'), await outcome('one')],
      ['key_taken', 'accepted', 'key_taken'],
    )
    await setNow(after(61 + 24 * 3600))
    assert.equal(await outcome('two'), 'key_taken')
    await setNow(after(62 + 24 * 3600))
    assert.equal(await outcome('two'), 'accepted')
  },

  'data that a job was accepted on counts as seen': async ({ database }) => {
    const account = await openAccount(database)
    const evaluation = { ...account.version, id: randomUUID(), version: 2 }
    await database.datasets.createVersion(evaluation)
    const accept = async (changes: Parameters<typeof acceptance>[1]) =>
      (await database.jobAcceptance.accept(acceptance(account, changes), 10)).outcome
    assert.equal(await accept({ otherVersionIds: [evaluation.id] }), 'accepted')
    for (const { id, uploadKey } of [account.version, evaluation])
      assert.equal(await accept({ version: { id, uploadKey, datasetId: 'data', wasSeen: false } }), 'accepted')
  },
}
