// A job whose files are too large for one request; the tests' stack has parts of 5 MiB.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { suite, test } from 'node:test'
import { createStorage } from '../../src/storage/storage.ts'
import { sampleRows, shortRun } from '../support/rows.ts'
import { connection, openAccount } from '../support/stack.ts'
import { openDatabase } from '../support/sandbox.ts'

const partBytes = 5 * 1024 * 1024

suite('a job with large files', async () => {
  const api = await openAccount()
  const database = openDatabase()
  const storage = createStorage({ region: 'us-east-1', ...connection().s3 })

  test('uploads and publishes them in parts, and the model has the bytes of its manifest', async () => {
    const id = await api.train({ data: sampleRows, finetune_args: { ...shortRun, max_steps: 4, r_value: 128 } })
    const { model_name } = await api.untilStatus(id, 'COMPLETED')
    const saved = await database.artifacts.newestModel(id)
    const large = saved?.files.find(({ sizeBytes }) => sizeBytes > partBytes) ?? assert.fail('no file is large')
    const links = await api.get<{ files: { name: string; url: string }[] }>(`/v1/models/${model_name}/download`)
    const { url } = links.files.find(({ name }) => name === large.name) ?? assert.fail(large.name)
    const copy = new URL(url).pathname.slice(`/${storage.bucket}/`.length)
    // S3 ends the ETag of a joined object with the number of its parts.
    for (const key of [large.key, copy]) assert.match((await storage.stat(key))?.etag ?? '', /-\d+$/, key)
    const bytes = Buffer.from(await (await fetch(url)).arrayBuffer())
    assert.equal(createHash('sha256').update(bytes).digest('hex'), large.sha256)
  })
})
