// What is deleted is gone, and what was done is on record: with real jobs, rows and objects.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, suite, test } from 'node:test'
import { Client } from 'minio'
import pg from 'pg'
import { scopes } from '../../src/domain/scopes.ts'
import { createOperator, type Key } from '../support/operator.ts'
import { sampleFile, sampleRows, shortRun } from '../support/rows.ts'
import { connection, createApi } from '../support/stack.ts'

type Event = { key_id: string; action: string; target: string; request_id: string; address: string }

suite('removal', async () => {
  const operator = createOperator()
  const account = await operator.openAccount()
  const { id: keyId, key } = await account.makeKey([...scopes])
  const api = createApi(key)
  const database = new pg.Client({ connectionString: connection().databaseUrl })
  await database.connect()
  after(() => database.end())
  const train = (more = {}) => api.train({ data: sampleRows, finetune_args: shortRun, ...more })
  const audit = async () => (await api.get<{ events: Event[] }>('/v1/audit?limit=1000')).events

  let firstJob = 0
  let modelName = ''

  test('a model can be downloaded: every link gives the bytes that the manifest names', async () => {
    await api.upload('products', sampleFile)
    firstJob = await train({ dataset_id: 'products', data: undefined, finetune_args: { max_steps: 2 } })
    modelName = (await api.untilStatus(firstJob, 'COMPLETED')).model_name ?? assert.fail('no model')
    const { files } = await api.get<{ files: { name: string; url: string; size: number; sha256: string }[] }>(
      `/v1/models/${modelName}/download`,
    )
    assert.deepEqual(files.map(({ name }) => name).toSorted(), [
      'README.md',
      'adapter_config.json',
      'adapter_model.safetensors',
      'anneal.json',
    ])
    for (const { url, size, sha256 } of files) {
      const bytes = Buffer.from(await (await fetch(url)).arrayBuffer())
      assert.deepEqual([bytes.length, createHash('sha256').update(bytes).digest('hex')], [size, sha256])
    }
    assert.equal((await api.request('GET', `/v1/models/${connection().baseModel}/download`)).status, 400)
    const { id } = await api.post<{ id: string }>(`/v1/models/${modelName}/export`, { format: 'adapter' })
    const exported = await api.get<{
      status: string
      files: { name: string; url: string; size_bytes: number; sha256: string }[]
    }>(`/v1/models/${modelName}/exports/${id}`)
    assert.equal(exported.status, 'COMPLETED')
    assert.deepEqual(
      exported.files.map(({ name, size_bytes, sha256 }) => ({ name, size: size_bytes, sha256 })),
      files.map(({ name, size, sha256 }) => ({ name, size, sha256 })),
    )
    for (const { url } of exported.files) assert.equal((await fetch(url)).status, 200)
  })

  test('a deleted model is gone with its rows and objects; its job stays', async () => {
    const stranger = createApi((await (await operator.openAccount()).makeKey([...scopes])).key)
    for (const [method, path] of [
      ['DELETE', ''],
      ['GET', '/download'],
      ['GET', `/exports/adapter-${modelName}`],
    ] as const)
      assert.equal((await stranger.request(method, `/v1/models/${modelName}${path}`)).status, 404)
    const { rows } = await database.query<{ artifact_id: string }>('select artifact_id from models where name = $1', [
      modelName,
    ])
    const [{ artifact_id: artifactId } = assert.fail('no model')] = rows
    assert.ok((await objects(`models/${account.id}/`)).length > 0)
    assert.equal((await api.request('DELETE', `/v1/models/${modelName}`)).status, 200)
    assert.equal((await api.request('DELETE', `/v1/models/${modelName}`)).status, 404)
    assert.deepEqual(await objects(`models/${account.id}/`), [])
    assert.deepEqual(await objects(`jobs/${firstJob}/artifacts/${artifactId}/`), [])
    for (const [table, column] of [
      ['artifacts', 'id'],
      ['evaluations', 'artifact_id'],
    ])
      assert.equal((await database.query(`select from ${table} where ${column} = $1`, [artifactId])).rowCount, 0)
    const job = await api.job(firstJob)
    assert.deepEqual([job.status, job.model_name], ['COMPLETED', null])
    const completion = await api.request('POST', '/v1/completions', { model_name: modelName, prompt: 'x' })
    assert.equal(completion.status, 404)
  })

  test('all open jobs are cancelled by one request', async () => {
    const jobs = [await train(), await train(), await train()]
    const answer = await api.post<{ message: string; cancelled: number }>('/v1/train/jobs/cancel')
    assert.deepEqual(answer, { message: 'cancelled 3 jobs', cancelled: 3 })
    assert.equal((await api.post<{ cancelled: number }>('/v1/train/jobs/cancel')).cancelled, 0)
    for (const id of jobs) await api.untilStatus(id, 'CANCELLED')
  })

  test('records every write and every action on a key, with actor, action, request and address', async () => {
    const { status } = await api.request('POST', '/v1/data', { dataset_id: 'traced' }, { 'x-request-id': 'trace-1' })
    assert.equal(status, 200)
    await api.post('/v1/svc/data', { id: 'facts', data: [{ fact: { text: 'one' } }] })
    await api.post('/v1/svc/delete_data', { id: 'facts' })
    await api.post('/v1/local-data', { upload_base_path: 's3', dataset_id: 'inline', data: sampleRows })
    await api.request('DELETE', '/v1/data/inline')
    await api.post('/v1/batch_completions', { model_name: connection().baseModel, prompt: ['x'], max_tokens: 1 })
    const second = await account.makeKey(['read'])
    const rotated = await operator.post<Key>(`/keys/${second.id}/rotate`, {})
    await operator.post(`/keys/${rotated.id}/revoke`)
    const webhook = await api.post<{ id: string }>('/v1/webhooks', { url: 'https://127.0.0.1:9/nobody-there' })
    await api.post(`/v1/webhooks/${webhook.id}`, { disabled: true })
    await api.request('DELETE', `/v1/webhooks/${webhook.id}`)
    const events = await audit()
    const of = (action: string) => events.filter((event) => event.action === action)
    const actions = [
      ['data.upload', 'traced'],
      ['data.upload', 'inline'],
      ['data.store', 'facts'],
      ['data.delete', 'facts'],
      ['data.delete', 'inline'],
      ['job.submit', String(firstJob)],
      ['model.delete', modelName],
      ['key.create', second.id],
      ['key.rotate', `${second.id} ${rotated.id}`],
      ['key.revoke', rotated.id],
      ['account.create', account.id],
      ['webhook.create', webhook.id],
      ['webhook.update', webhook.id],
      ['webhook.delete', webhook.id],
    ] as const
    for (const [action, target] of actions) {
      const [event, ...others] = of(action).filter((each) => each.target === target)
      assert.ok(event, `${action} ${target} is not on record`)
      assert.deepEqual(others, [])
      assert.equal(event.key_id, /^(key|account)/.test(action) ? 'operator' : keyId)
      assert.equal(event.address, '127.0.0.1')
      assert.ok(event.request_id)
    }
    assert.equal(of('job.cancel').length, 3)
    assert.equal(of('batch.create').length, 1)
    assert.equal(of('data.upload').find(({ target }) => target === 'traced')?.request_id, 'trace-1')
    const paged: Event[] = []
    for (let after = ''; ;) {
      const page = await api.get<{ events: Event[]; next: string | null }>(`/v1/audit?limit=3${after}`)
      paged.push(...page.events)
      if (page.next === null) break
      after = `&after=${page.next}`
    }
    assert.deepEqual(paged, events)
    for (const change of ["update audit_events set action = 'x'", 'delete from audit_events'])
      await assert.rejects(database.query(`${change} where account_id = $1`, [account.id]), /append-only/)
  })

  test('a deleted account leaves no row and no object but the audit trail, although a job was running', async () => {
    await api.post('/v1/webhooks', { url: 'https://127.0.0.1:9/nobody-there' })
    const running = await train()
    await api.untilStatus(running, 'TRAINING MODEL')
    const prompts = Array.from({ length: 2000 }, (_, index) => `Fact ${index}:`)
    await api.post('/v1/batch_completions', { model_name: connection().baseModel, prompt: prompts, max_tokens: 20 })
    await api.post('/v1/svc/data', { id: 'kept', data: [{ fact: { text: 'two' } }] })
    const { rows: jobs } = await database.query<{ id: number }>('select id from training_jobs where account_id = $1', [
      account.id,
    ])
    assert.ok(jobs.length >= 5)
    for (let status = 503; status === 503;) ({ status } = await operator.request('DELETE', `/accounts/${account.id}`))
    assert.equal((await operator.request('DELETE', `/accounts/${account.id}`)).status, 404)
    assert.equal((await api.request('GET', '/v1/models')).status, 401)
    const left = await rowsOf(
      account.id,
      jobs.map(({ id }) => id),
    )
    assert.ok((left['audit_events'] ?? 0) > 0)
    delete left['audit_events']
    assert.deepEqual(
      Object.entries(left).filter(([, count]) => count > 0),
      [],
    )
    assert.ok(Object.keys(left).length > 8, 'tables were looked at')
    const folders = ['uploads', 'inline', 'models', 'batches'].map((kind) => `${kind}/${account.id}/`)
    for (const folder of [...folders, ...jobs.map(({ id }) => `jobs/${id}/`)])
      assert.deepEqual(await objects(folder), [])
  })

  /** Of every table that names an account or a job, found in the catalogue of the database: a new one is looked at, too. */
  async function rowsOf(accountId: string, jobIds: number[]) {
    const { rows: columns } = await database.query<{ table_name: string; column_name: string }>(
      `select table_name, column_name from information_schema.columns
       where table_schema = 'public' and column_name in ('account_id', 'job_id')`,
    )
    const counts: Record<string, number> = {}
    for (const { table_name: table, column_name: column } of columns) {
      const value = column === 'account_id' ? accountId : jobIds
      const sql = `select from "${table}" where ${column} ${column === 'account_id' ? '= $1' : '= any($1)'}`
      counts[table] = (counts[table] ?? 0) + ((await database.query(sql, [value])).rowCount ?? 0)
    }
    return counts
  }

  async function objects(prefix: string): Promise<string[]> {
    const { endpoint, bucket, accessKey, secretKey } = connection().s3
    const { hostname, port } = new URL(endpoint)
    const client = new Client({ endPoint: hostname, port: Number(port), useSSL: false, accessKey, secretKey })
    const items = await client.listObjectsV2(bucket, prefix, true).toArray()
    return (items as { name: string }[]).map(({ name }) => name)
  }
})
