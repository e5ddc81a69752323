// Names of models on the real database: who numbers the versions, and what a name leads to.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import { canBeAsked } from '../../src/domain/model-reference.ts'
import { sha256Hex } from '../../src/domain/identifiers.ts'
import type { Learned } from '../../src/domain/learned.ts'
import type { JobEnding } from '../../src/domain/training-job.ts'
import type { Repositories } from '../../src/repositories/database.ts'
import { anAccount, openJob } from '../support/job-rows.ts'
import { createSandbox, openDatabase } from '../support/sandbox.ts'

suite('names of models', () => {
  const database = openDatabase(8)
  const sandbox = createSandbox(database)

  /** Ends a new job of this name with a model. @returns the model's id */
  async function publish(
    tx: Repositories,
    accountId: string,
    customModelName: string,
    status: JobEnding['status'] = 'COMPLETED',
    learned?: Learned,
  ): Promise<string> {
    const { id: jobId } = await openJob(tx, accountId, undefined, undefined, customModelName)
    if (learned) {
      const file = { key: 'k', sizeBytes: 1, sha256: 'h', rowCount: 1 }
      const data = {
        train: file,
        evaluation: { ...file, split: 'train' as const },
        sourceEtag: 'e',
        reader: 1,
        learned,
      }
      assert.ok(await tx.trainingJobs.setPreparedData({ id: jobId, generation: 1 }, data))
    }
    const name = sha256Hex(randomUUID())
    const artifactId = randomUUID()
    await tx.artifacts.create({ id: artifactId, jobId, attempt: 1, kind: 'model', step: 1, specHash: 'h', files: [] })
    await tx.trainingJobs.queue({ jobId, generation: 1, reason: null, message: null })
    for (const to of ['LOADING DATA', 'TRAINING MODEL', 'SAVING MODEL', 'EVALUATING MODEL', status] as const) {
      const move = { jobId, generation: 1, to, reason: null, message: null, actor: 'test' }
      assert.equal(await tx.trainingJobs.move({ ...move, ...(to === status && { modelName: name }) }), 'moved')
    }
    const model = { name, accountId, jobId, artifactId, baseModel: 'm', files: [] }
    await tx.models.publish(model)
    await tx.models.publish(model)
    return name
  }

  const found = async (tx: Repositories, accountId: string, reference: string) =>
    (await tx.models.find(accountId, reference))?.name ?? null

  test('lead to versions, to the newest COMPLETED one, and to what their aliases say, in their account only', () =>
    sandbox(async (tx) => {
      const [accountId, other] = [await anAccount(tx), await anAccount(tx)]
      const one = await publish(tx, accountId, 'bot')
      const two = await publish(tx, accountId, 'bot')
      const partial = await publish(tx, accountId, 'bot', 'PARTIALLY COMPLETED')
      const theirs = await publish(tx, other, 'bot')
      const ask = (reference: string) => found(tx, accountId, reference)
      assert.deepEqual(await Promise.all(['bot', 'bot@1', 'bot@2', 'bot@3', one].map(ask)), [
        two,
        one,
        two,
        partial,
        one,
      ])
      assert.deepEqual(await Promise.all(['bot@4', 'bot@production', 'Bot', theirs].map(ask)), [null, null, null, null])
      assert.equal(await found(tx, other, 'bot'), theirs)
      assert.equal(await found(tx, other, 'bot@2'), null)

      assert.equal(await tx.modelNames.setAlias(accountId, 'bot', 'production', 1), one)
      assert.equal(await ask('bot@production'), one)
      assert.equal(await tx.modelNames.setAlias(accountId, 'bot', 'production', 3), partial)
      assert.equal(await ask('bot@production'), partial)
      assert.equal(await tx.modelNames.setAlias(accountId, 'bot', 'production', 9), null)
      assert.equal(await ask('bot@production'), partial)
      assert.equal(await found(tx, other, 'bot@production'), null)
      const [newest] = await tx.models.list(accountId, { after: null, limit: 1 })
      assert.ok(newest)
      const listed = await tx.models.list(accountId, { after: null, limit: 10 })
      assert.deepEqual(listed.find(({ name }) => name === partial)?.aliases, ['bot@3', 'bot@production'])

      const page = await tx.modelNames.versions(accountId, 'bot', { before: null, limit: 2 })
      assert.deepEqual(
        page.map(({ version, status, modelName }) => [version, status, modelName]),
        [
          [3, 'PARTIALLY COMPLETED', partial],
          [2, 'COMPLETED', two],
        ],
      )
      const rest = await tx.modelNames.versions(accountId, 'bot', { before: 2, limit: 2 })
      assert.deepEqual(
        rest.map(({ version }) => version),
        [1],
      )
    }))

  test('never give a number twice, also after a deletion', () =>
    sandbox(async (tx) => {
      const accountId = await anAccount(tx)
      await publish(tx, accountId, 'bot')
      const name = await publish(tx, accountId, 'bot')
      const { artifactId } = (await tx.models.find(accountId, name)) ?? assert.fail()
      await tx.models.delete({ accountId, name, artifactId })
      assert.equal(await found(tx, accountId, 'bot@2'), null)
      const next = await publish(tx, accountId, 'bot')
      assert.equal(await found(tx, accountId, 'bot@3'), next)
    }))

  test('are numbered by the same rule that requests follow', () =>
    sandbox(async (tx) => {
      const accountId = await anAccount(tx)
      for (const name of ['bot', 'ft:tiny:bot', 'a@b', 'c'.repeat(64), 'ftjob-7:ckpt-step-60', '', 'two\nlines']) {
        const model = await publish(tx, accountId, name)
        const given = await tx.modelNames.versionOf(model)
        assert.equal(given?.name ?? null, canBeAsked(name) ? name : null, name)
      }
    }))

  test('say what they learned, as their list does', () =>
    sandbox(async (tx) => {
      const accountId = await anAccount(tx)
      const learned = { form: 'conversations' as const, systemMessage: 'Be brief.' }
      const models = [await publish(tx, accountId, 'bot'), await publish(tx, accountId, 'bot', 'COMPLETED', learned)]
      for (const [at, model] of models.entries()) {
        const listed = (await tx.models.list(accountId, { after: null, limit: 9 })).find(({ name }) => name === model)
        const described = await tx.modelNames.describe(accountId, model)
        const facts = [listed?.learned, described?.learned, (await tx.models.find(accountId, model))?.learned]
        assert.deepEqual(facts, at === 0 ? [null, null, null] : [learned, learned, learned])
      }
    }))

  test('show the figures that are kept of their evaluations', () =>
    sandbox(async (tx) => {
      const accountId = await anAccount(tx)
      const model = await publish(tx, accountId, 'bot')
      const figures = async () => (await tx.modelNames.describe(accountId, model))?.scores
      assert.equal(await figures(), null)
      await tx.models.keepScores(model, { f1: null })
      await tx.models.keepScores('deleted meanwhile', { f1: null })
      assert.deepEqual(await figures(), { f1: null })
    }))

  test('number models that jobs publish at the same time', async () => {
    const accountId = await database.transaction(anAccount)
    const models = await Promise.all(
      Array.from({ length: 6 }, () => database.transaction((tx) => publish(tx, accountId, 'bot'))),
    )
    const versions = await database.modelNames.versions(accountId, 'bot', { before: null, limit: 10 })
    assert.deepEqual(
      versions.map(({ version }) => version),
      [6, 5, 4, 3, 2, 1],
    )
    assert.deepEqual(versions.map(({ modelName }) => modelName).toSorted(), models.toSorted())
    await database.modelNames.setAlias(accountId, 'bot', 'production', 2)
    await database.accountData.deleteJobs(
      versions.map(({ jobId }) => jobId),
      [],
    )
    await database.accountData.deleteAccount(accountId)
    assert.equal(await found(database, accountId, 'bot@production'), null)
  })
})
