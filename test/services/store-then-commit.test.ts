// A commit whose answer is lost may have happened: what its rows name must stay.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Repositories } from '../../src/repositories/database.ts'
import { ingestRows } from '../../src/services/datasets/ingest-rows.ts'
import { storeDataset } from '../../src/services/datasets/store.ts'
import { storeFile } from '../../src/services/files/store-file.ts'
import { withForm } from '../../src/services/files/receive-file.ts'
import { storeThenCommit } from '../../src/services/store-then-commit.ts'
import { contextOf } from '../support/service-context.ts'

const lost = new Error('the answer to COMMIT was lost')
const refused = new Error('no room')

/** Stores that keep everything in memory. `answers`: false loses the answer to each commit, and the commit happens. */
function stores({ answers = true }: { answers?: boolean } = {}) {
  const objects = new Set<string>()
  const versions = new Map<string, { uploadKey: string }>()
  const datasets = {
    createVersion: async ({ id, uploadKey }: { id: string; uploadKey: string }) => void versions.set(id, { uploadKey }),
    keep: async (id: string) => ({ ...versions.get(id), datasetId: 'products' }),
    removeUnused: async (id: string) => versions.delete(id),
  }
  const repositories = {
    datasets,
    accounts: { storedBytes: async () => 0 },
    auditEvents: { add: async () => undefined },
  } as unknown as Repositories
  const database = {
    ...repositories,
    async transaction<T>(work: (tx: Repositories) => Promise<T>): Promise<T> {
      const result = await work(repositories)
      if (!answers) throw lost
      return result
    },
  }
  const storage = {
    urlPrefix: '',
    write: async (key: string) => void objects.add(key),
    async writeStream(key: string, chunks: AsyncIterable<Buffer>) {
      let sizeBytes = 0
      for await (const chunk of chunks) sizeBytes += chunk.length
      objects.add(key)
      return sizeBytes
    },
    remove: async (keys: string[]) => keys.forEach((key) => objects.delete(key)),
  }
  const deps = { database, storage, settings: { maxStoredBytes: 1e9 }, log: { warn() {} } }
  const ctx = contextOf({ deps, accountId: 'a', apiKeyId: 'k', origin: { requestId: 'r', address: '' } })
  return { objects, versions, ctx, ...deps }
}

suite('an object that is stored before its row commits', () => {
  const write = (held: ReturnType<typeof stores>, commit: () => Promise<string>) =>
    storeThenCommit(held, { key: 'items', store: () => held.storage.write('items'), commit })

  test('stays when the answer to the commit is lost, and when it arrives', async () => {
    const [silent, ordinary] = [stores({ answers: false }), stores()]
    await assert.rejects(
      write(silent, async () => 'b'),
      lost,
    )
    assert.equal(await write(ordinary, async () => 'b'), 'b')
    for (const { objects } of [silent, ordinary]) assert.deepEqual([...objects], ['items'])
  })

  test('is removed when no commit was sent', async () => {
    const held = stores()
    await assert.rejects(
      write(held, () => Promise.reject(refused)),
      refused,
    )
    assert.deepEqual([...held.objects], [])
  })
})

suite('rows and files of a request', () => {
  const options = { fields: ['data'], limitBytes: 1e6, restLimitBytes: 1e6 }
  const signal = () => new AbortController().signal
  const receive = { options, idempotencyKey: undefined, signal, checkRow: (bytes: Buffer) => Promise.resolve(bytes) }
  const send = ({ ctx }: ReturnType<typeof stores>, after = () => {}) =>
    ingestRows(
      { ctx, ...receive, body: [Buffer.from('{"data": [{"input": "a", "output": "b"}]}')] },
      async ({ rows }) => {
        const input = { datasetId: 'products', isPublic: false, rows: rows['data'] ?? null }
        await storeDataset({ ctx, input, idempotency: null })
        after()
      },
    )

  test('stay when the answer to their commit is lost', async () => {
    const held = stores({ answers: false })
    await assert.rejects(send(held), lost)
    assert.deepEqual([held.objects.size, held.versions.size], [1, 1])
  })

  test('go when the request is refused after they were kept', async () => {
    const held = stores()
    await assert.rejects(
      send(held, () => {
        throw refused
      }),
      refused,
    )
    assert.deepEqual([held.objects.size, held.versions.size], [0, 0])
  })

  test('stay as a file when the answer to its commit is lost', async () => {
    const held = stores({ answers: false })
    const head = 'Content-Disposition: form-data; name="file"; filename="rows.jsonl"\r\n\r\n'
    const form = { ...receive, ctx: held.ctx, boundary: 'b', body: [Buffer.from(`--b\r\n${head}{}\r\n--b--\r\n`)] }
    const keep = withForm(form, ({ file }) =>
      storeFile({ ctx: held.ctx, input: { file, fileName: 'rows.jsonl', purpose: 'batch' }, idempotency: null }),
    )
    await assert.rejects(keep, lost)
    assert.deepEqual([held.objects.size, held.versions.size], [1, 1])
  })
})
