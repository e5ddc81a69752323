// Accepting a job, on the real stores: what commits with it, what it costs, and what holds when many are sent at once.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { after, before, suite, test } from 'node:test'
import pg from 'pg'
import { processId } from '../../../src/embedded/connection.ts'
import { parseCatalogue } from '../../../src/domain/catalogue.ts'
import { parseApiKey, sha256 } from '../../../src/domain/identifiers.ts'
import { connectDatabase } from '../../../src/repositories/database.ts'
import { deleteDataset } from '../../../src/services/datasets/delete.ts'
import { submitTrainingJob, type SubmitTrainingJobInput } from '../../../src/services/training-jobs/submit.ts'
import { removeAbandonedUploads } from '../../../activities/abandoned-uploads.ts'
import { createStorage } from '../../../src/storage/storage.ts'
import { formOf } from '../../http/route-matrix/names.ts'
import { sampleRows } from '../../support/rows.ts'
import { connection, openAccount } from '../../support/stack.ts'
import { contextOf } from '../../support/service-context.ts'

suite('submit', async () => {
  const { databaseUrl, s3, baseModel } = connection()
  const worker = processId(connection(), 'worker')
  const database = connectDatabase(databaseUrl, { poolSize: 12 })
  const storage = createStorage({ ...s3, region: 'us-east-1' })
  const sql = new pg.Client({ connectionString: databaseUrl })
  const catalogue = parseCatalogue(JSON.parse(readFileSync('models.json', 'utf8')))
  // Jobs that end meanwhile would make room.
  before(async () => {
    process.kill(worker, 'SIGSTOP')
    await sql.connect()
  })
  after(async () => {
    process.kill(worker, 'SIGCONT')
    await Promise.all([database.close(), sql.end()])
  })

  /** An account with an upload, and the verb of an api process of its own. */
  async function openSubmitter(maxOpenJobs = 1000) {
    const api = await openAccount()
    const key = parseApiKey(api.apiKey) ?? assert.fail()
    const { accountId } = (await database.accounts.findLiveApiKey(key.id)) ?? assert.fail()
    after(() => api.post('/v1/train/jobs/cancel'))
    const settings = { resumeLimit: 5, maxGpus: 1, maxNodes: 1, maxOpenJobs, maxStoredBytes: 1e12, maxRowBytes: 1e10 }
    const ctx = contextOf({
      deps: { database, storage, catalogue, settings },
      accountId,
      apiKeyId: key.id,
      origin: { requestId: randomUUID(), address: '127.0.0.1' },
    })
    const location = await api.upload('rows', sampleRows.map((row) => `${JSON.stringify(row)}\n`).join(''))
    const submit = (more: Partial<SubmitTrainingJobInput> = {}, key?: string, body = 'body', by = ctx) =>
      submitTrainingJob({
        ctx: by,
        input: {
          modelName: baseModel,
          uploadFilePath: location,
          finetuneArgs: {},
          gpuConfig: {},
          isPublic: false,
          customModelName: null,
          ...more,
        },
        idempotency: key === undefined ? null : { key, requestHash: sha256(body) },
      })
    return { api, ctx, accountId, location, submit }
  }

  /** Counts the rows that the account's submits have written, by table. */
  async function written(accountId: string) {
    const { rows } = await sql.query<Record<string, number>>(
      `with job as (select id from training_jobs where account_id = $1)
       select (select count(*) from job)::int as jobs,
         (select count(*) from job_events where job_id in (select id from job) and kind = 'status')::int as events,
         (select count(*) from outbox_messages where workflow_id in (select 'fine-tune-' || id from job))::int as messages,
         (select count(*) from audit_events where account_id = $1 and action = 'job.submit')::int as audited,
         (select count(*) from idempotency_keys where account_id = $1 and key like 'submit%')::int as keys`,
      [accountId],
    )
    return rows[0]
  }

  test('a submit on data that a job was accepted on is one statement, without a look at the object store', async (t) => {
    const { ctx, accountId, submit } = await openSubmitter()
    await submit()
    const blind = { ...ctx, deps: { ...ctx.deps, storage: { ...storage, stat: () => assert.fail('a look') } } }
    const queries = t.mock.method(pg.Client.prototype, 'query')
    await submit({}, 'submit-1', 'body', blind)
    t.mock.restoreAll()
    assert.equal(queries.mock.callCount(), 1)
    assert.deepEqual(await written(accountId), { jobs: 2, events: 2, messages: 2, audited: 2, keys: 1 })
  })

  test('the first submit on an upload counts its bytes: four statements and one look, with a key or without', async (t) => {
    for (const key of [undefined, 'submit-key']) {
      const { ctx, accountId, submit } = await openSubmitter()
      let looks = 0
      const stat = (key: string) => (looks++, storage.stat(key))
      const queries = t.mock.method(pg.Client.prototype, 'query')
      await submit({}, key, 'body', { ...ctx, deps: { ...ctx.deps, storage: { ...storage, stat } } })
      t.mock.restoreAll()
      assert.deepEqual([queries.mock.callCount(), looks], [4, 1])
      const keys = key === undefined ? 0 : 1
      assert.deepEqual(await written(accountId), { jobs: 1, events: 1, messages: 1, audited: 1, keys })
    }
  })

  test('a look at an upload that fails, or finds nothing, leaves nothing; the next submit looks again', async () => {
    const { ctx, accountId, submit } = await openSubmitter()
    const seeing = (stat: () => Promise<null>) => ({ ...ctx, deps: { ...ctx.deps, storage: { ...storage, stat } } })
    await assert.rejects(
      submit(
        {},
        'submit',
        'body',
        seeing(() => Promise.reject(new Error('away'))),
      ),
      { message: 'away' },
    )
    await assert.rejects(
      submit(
        {},
        'submit',
        'body',
        seeing(() => Promise.resolve(null)),
      ),
      { code: 'invalid_input' },
    )
    assert.deepEqual(await written(accountId), { jobs: 0, events: 0, messages: 0, audited: 0, keys: 0 })
    assert.ok((await submit({}, 'submit')).jobId > 0)
  })

  test('a data set is deleted or takes a job, never both; a sweep removes the rest of a deletion', async () => {
    const { api, ctx, accountId, submit } = await openSubmitter()
    const storageOf = (remove: typeof storage.remove) =>
      contextOf({ ...ctx, deps: { ...ctx.deps, storage: { ...storage, remove }, log: { warn() {} } } })
    const isDone = ({ status }: PromiseSettledResult<unknown>) => status === 'fulfilled'
    for (let round = 0; round < 8; round++) {
      const datasetId = `race-${round}`
      const uploadFilePath = await api.upload(datasetId, '{"input":"a","output":"b"}')
      const input = { datasetId }
      const outcomes = await Promise.allSettled([
        submit({ uploadFilePath }),
        deleteDataset({ ctx: storageOf((keys) => storage.remove(keys)), input }),
      ])
      assert.equal(outcomes.filter(isDone).length, 1, JSON.stringify(outcomes))
    }
    const { rows } = await sql.query<{ id: string; upload_key: string }>(
      `select id, upload_key from dataset_versions where account_id = $1 and dataset_id = 'rows'`,
      [accountId],
    )
    const { id, upload_key: key } = rows[0] ?? assert.fail()
    const away = storageOf(async () => {
      await assert.rejects(submit(), { code: 'invalid_input' })
      throw new Error('away')
    })
    assert.deepEqual(await deleteDataset({ ctx: away, input: { datasetId: 'rows' } }), { deleted: 1 })
    await assert.rejects(deleteDataset({ ctx: away, input: { datasetId: 'rows' } }), { code: 'not_found' })
    assert.ok(await storage.stat(key))
    await sql.query(`update dataset_versions set created_at = now() - interval '2 days' where id = $1`, [id])
    await removeAbandonedUploads({ database, storage })
    assert.equal(await storage.stat(key), null)
    assert.equal((await sql.query('select from dataset_versions where id = $1', [id])).rowCount, 0)
  })

  test('requests with one key that are sent at once are one job, and all get its answer', async () => {
    const { accountId, submit } = await openSubmitter()
    const isUsed = [false, true]
    for (const [round] of isUsed.entries()) {
      const answers = await Promise.all(Array.from({ length: 10 }, () => submit({}, `submit-${round}`)))
      for (const answer of answers) assert.deepEqual(answer, answers[0])
      await assert.rejects(submit({}, `submit-${round}`, 'another'), { code: 'idempotency_mismatch' })
      const count = round + 1
      const each = { jobs: count, events: count, messages: count, audited: count, keys: count }
      assert.deepEqual(await written(accountId), each)
    }
  })

  test('concurrent requests with the same key and rows make a single data set and a single job', async () => {
    const { api, accountId } = await openSubmitter()
    const send = () =>
      api.request('POST', '/v1/train', { model_name: baseModel, data: sampleRows, eval_data: sampleRows }, headers)
    const headers = { 'idempotency-key': 'submit-rows' }
    const answers = await Promise.all(Array.from({ length: 5 }, send))
    for (const { status, body } of answers) assert.deepEqual([status, body], [200, answers[0]?.body])
    assert.deepEqual((await send()).body, answers[0]?.body)
    const { rows } = await sql.query('select used_at from dataset_versions where account_id = $1', [accountId])
    // The upload of every submitter, the rows to train on, and those to evaluate on.
    assert.equal(rows.length, 3)
    assert.equal(rows.filter(({ used_at }) => used_at !== null).length, 2)
    assert.equal((await written(accountId))?.['jobs'], 1)
  })

  test('a repeat gets the first answer when its model or data set is gone', async () => {
    const { api, ctx, submit } = await openSubmitter()
    const without = contextOf({ ...ctx, deps: { ...ctx.deps, catalogue: { find: () => undefined } } })
    const again = (key: string, body?: string) => submit({}, key, body, without)
    await assert.rejects(again('submit'), { code: 'model_not_found' })
    const first = await submit({}, 'submit')
    assert.deepEqual(await again('submit'), first)
    await assert.rejects(again('submit', 'another'), { code: 'idempotency_mismatch' })
    await assert.rejects(again('submit-other'), { code: 'model_not_found' })

    const { id: file } = await api.post<{ id: string }>('/openai/v1/files', formOf('fine-tune'))
    const tune = async (key: string) => {
      const body = { model: baseModel, training_file: file, hyperparameters: { n_epochs: 1 } }
      return api.request<{ id: string }>('POST', '/openai/v1/fine_tuning/jobs', body, { 'idempotency-key': key })
    }
    const job = await tune('tune')
    assert.equal(job.status, 200)
    // No worker is there to end it.
    await sql.query(`update training_jobs set status = 'CANCELLED', finished_at = now() where id = $1`, [
      job.body.id.replace('ftjob-', ''),
    ])
    assert.equal((await api.request('DELETE', `/openai/v1/files/${file}`)).status, 200)
    assert.equal((await tune('tune')).body.id, job.body.id)
    assert.equal((await tune('tune-other')).status, 400)
  })

  test('a repeat of an upload gets the first answer when there is no room for it any more', async () => {
    const { api, accountId } = await openSubmitter()
    const uploads: [path: string, body: () => object][] = [
      ['/openai/v1/files', () => formOf('fine-tune')],
      ['/v1/local-data', () => ({ data: sampleRows })],
      ['/v1/svc/data', () => ({ id: 'words', data: { fact: { text: 'Ann' } } })],
      ['/v1/train', () => ({ model_name: baseModel, data: sampleRows })],
    ]
    type Made = { id?: string; job_id?: string; dataset_id?: string; dataset?: string }
    const sendAll = (name: string) =>
      Promise.all(
        uploads.map(([path, body]) =>
          api.request<Made>('POST', path, body(), { 'idempotency-key': `${name}-${path}` }),
        ),
      )
    const idsOf = (answers: Awaited<ReturnType<typeof sendAll>>) =>
      answers.map(({ status, body }) => {
        assert.equal(status, 200, JSON.stringify(body))
        return body.id ?? body.job_id ?? body.dataset_id ?? body.dataset
      })
    const versions = async () =>
      (await sql.query('select id from dataset_versions where account_id = $1', [accountId])).rowCount
    const ids = idsOf(await sendAll('first'))
    const id = randomUUID()
    await database.datasets.createVersion({ id, accountId, datasetId: id, version: 1, uploadKey: id })
    await database.datasets.noteSize(id, 1e15)
    await sql.query('update account_storage set row_bytes = 1e15 where account_id = $1', [accountId])
    const before = await versions()
    assert.deepEqual(idsOf(await sendAll('first')), ids)
    for (const { status } of await sendAll('other')) assert.equal(status, 429)
    assert.equal(await versions(), before)
  })

  test('a key whose day is over, or whose request died, is taken anew', async () => {
    const { accountId, submit } = await openSubmitter()
    const first = await submit({}, 'submit')
    await sql.query(`update idempotency_keys set created_at = now() - interval '25 hours' where account_id = $1`, [
      accountId,
    ])
    const second = await submit({}, 'submit')
    assert.notEqual(second.jobId, first.jobId)
    assert.deepEqual(await submit({}, 'submit'), second)
    await sql.query(
      `update idempotency_keys set response = null, claimed_until = now() where account_id = $1 and key = 'submit'`,
      [accountId],
    )
    const third = await submit({}, 'submit')
    assert.notEqual(third.jobId, second.jobId)
    assert.deepEqual(await submit({}, 'submit'), third)
  })

  test('an account has no more open jobs than it may, however many are sent at once; replays are answered all the same', async () => {
    for (const maxOpenJobs of [3, 202]) {
      const { accountId, location, submit } = await openSubmitter(maxOpenJobs)
      const first = await submit({}, 'submit-first')
      await open(accountId, location, maxOpenJobs - 3)
      const outcomes = await Promise.allSettled(Array.from({ length: 12 }, (_, n) => submit({}, `submit-${n}`)))
      const refused = outcomes.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[]
      assert.equal(outcomes.length - refused.length, 2)
      for (const { reason } of refused) assert.equal((reason as { code: string }).code, 'quota_exceeded')
      await assert.rejects(submit(), { code: 'quota_exceeded' })
      assert.deepEqual(await submit({}, 'submit-first'), first)
      assert.deepEqual(await written(accountId), { jobs: maxOpenJobs, events: 3, messages: 3, audited: 3, keys: 3 })
      await sql.query(`delete from training_jobs where account_id = $1 and api_key_id = 'none'`, [accountId])
    }
  })

  test('a submit that fails half way leaves nothing', async () => {
    const { ctx, accountId, submit } = await openSubmitter()
    await submit()
    const before = await written(accountId)
    // The last of its rows cannot be written.
    const broken = { ...ctx, origin: { requestId: 'a\0b', address: '' } }
    await assert.rejects(submit({}, 'submit', 'body', broken))
    assert.deepEqual(await written(accountId), before)
    assert.ok((await submit({}, 'submit')).jobId > 0)
  })

  test('used data of another account, under another id, or deleted meanwhile is refused and leaves nothing', async () => {
    const [one, other] = [await openSubmitter(), await openSubmitter()]
    await other.submit()
    const refused = { code: 'invalid_input' }
    await assert.rejects(one.submit({ uploadFilePath: other.location }), refused)
    await one.submit()
    await assert.rejects(one.submit({ datasetId: 'another' }), refused)
    await assert.rejects(one.submit({ uploadFilePath: one.location.replace('/rows/', '/sows/') }), refused)
    const { rows } = await sql.query<{ id: string }>(`select id from dataset_versions where account_id = $1`, [
      one.accountId,
    ])
    await database.datasets.hide(rows[0]?.id ?? '')
    await assert.rejects(one.submit(), refused)
    assert.equal((await written(one.accountId))?.['jobs'], 1)
  })

  /** Open jobs without a start message: no worker ever sees them. */
  const open = (accountId: string, location: string, count: number) =>
    sql.query(
      `insert into training_jobs (account_id, api_key_id, dataset_version_id, dataset_id, base_model, status, spec, spec_hash, resume_limit)
       select account_id, 'none', id, dataset_id, 'm', 'QUEUED', '{}', 'h', 1
       from dataset_versions, generate_series(1, $3::int) where account_id = $1 and $2 like '%' || upload_key || '%'`,
      [accountId, location, count],
    )
})
