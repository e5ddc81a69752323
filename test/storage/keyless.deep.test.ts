// Api, worker and signed URLs without a static key, while the credentials of the store end every few seconds.
//   ANNEAL_KEYLESS_MINUTES=60 ANNEAL_KEYLESS_SECONDS=120 npm run test:deep -- keyless
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { describeHome, prepareHome } from '../../src/embedded/data-directory.ts'
import { choosePorts } from '../../src/embedded/ports.ts'
import { loadSecrets } from '../../src/embedded/secrets.ts'
import { startFaultStack } from '../lab/faults/stack.ts'
import { eventually } from '../support/eventually.ts'
import { sampleRows, shortRun } from '../support/rows.ts'
import { startSessionStore } from './support/session-store.ts'
import { startSmallSts } from './support/small-sts.ts'

const minutes = Number(process.env['ANNEAL_KEYLESS_MINUTES'] ?? 2)
const seconds = Number(process.env['ANNEAL_KEYLESS_SECONDS'] ?? 20)

/** Longer than other tests may take. */
const timeout = (minutes + 20) * 60_000

suite(`keyless for ${minutes} min with credentials of ${seconds} s`, { timeout }, async () => {
  const dir = mkdtempSync(join(tmpdir(), 'anneal-keyless-'))
  const home = describeHome(dir)
  prepareHome(home)
  const secrets = loadSecrets(home)
  const { s3: port } = await choosePorts(home, 0, () => undefined)
  const sts = await startSmallSts({ seconds })
  const keys = { accessKey: secrets.s3AccessKey, secretKey: secrets.s3SecretKey }
  const store = await startSessionStore(`http://127.0.0.1:${port}`, keys, sts.sessions)
  const tokenFile = join(dir, 'token')
  writeFileSync(tokenFile, 'a web identity')
  const stack = await startFaultStack(dir, {
    ...{ S3_ACCESS_KEY: '', S3_SECRET_KEY: '', S3_ENDPOINT: store.url },
    ...{ AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile, AWS_ENDPOINT_URL_STS: sts.url },
    ANNEAL_UPLOAD_PART_MIB: '5',
  })
  after(async () => {
    await stack.stop()
    store.close()
    sts.close()
  })

  async function ask<T>(path: string, body?: unknown): Promise<T> {
    const response = await fetch(stack.apiUrl + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${stack.apiKey}`, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    })
    const text = await response.text()
    assert.ok(response.ok, `${path}: ${response.status} ${text}`)
    return JSON.parse(text) as T
  }

  /** A data set by a signed URL, a training with checkpoints in parts, and its adapter by signed URLs. */
  async function round() {
    const id = randomUUID()
    const { dataset_location: url } = await ask<{ dataset_location: string }>('/v1/data', { dataset_id: id })
    const lines = sampleRows.map((row) => JSON.stringify(row)).join('\n')
    const put = await fetch(url, { method: 'PUT', body: lines })
    assert.equal(put.status, 200, await put.text())
    const { job_id: job } = await ask<{ job_id: number }>('/v1/train', {
      ...{ model_name: 'anneal-tiny', dataset_id: id, finetune_args: shortRun },
    })
    const { model_name: name } = await eventually(async () => {
      const { status, ...rest } = await ask<Record<string, string>>(`/v1/train/jobs/${job}`)
      assert.notEqual(status, 'FAILED', JSON.stringify(rest))
      return status === 'COMPLETED' && rest
    }, `job ${job}`)
    const links = await ask<{ expires_in: number; files: { url: string }[] }>(`/v1/models/${name}/download`)
    assert.ok(links.expires_in <= seconds, 'promised longer than the credentials live')
    for (const { url: link } of links.files) assert.equal((await fetch(link)).status, 200)
  }

  test('data sets, trainings and downloads never meet an ended credential', { timeout }, async () => {
    const endMs = Date.now() + minutes * 60_000
    let rounds = 0
    do {
      await round()
      rounds++
    } while (Date.now() < endMs)
    console.log(`${rounds} rounds, ${sts.state.asked} credentials, ${store.accepted.size} of them used`)
    assert.deepEqual(store.refusals, [])
    assert.ok(store.accepted.size > (minutes * 60) / seconds, 'the credentials were not renewed')
  })
})
