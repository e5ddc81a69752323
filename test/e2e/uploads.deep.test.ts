// A file in parts: kill -9 of the api between parts and while they are joined loses nothing, and the file has the sent bytes.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { suite, test } from 'node:test'
import { processId } from '../../src/embedded/connection.ts'
import { eventually } from '../support/eventually.ts'
import { connection, openAccount } from '../support/stack.ts'

type Made = { id: string; status: string; file: { id: string; bytes: number } | null }
const mebibyte = 1024 * 1024

suite('an upload in parts', async () => {
  const api = await openAccount()
  const pieces = Array.from({ length: 12 }, (_, at) => randomBytes((at === 11 ? 3 : 8) * mebibyte + at))
  const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0)
  const md5 = createHash('md5')
  for (const piece of pieces) md5.update(piece)
  const sum = md5.digest('hex')

  function form(piece: Buffer) {
    const data = new FormData()
    data.set('data', new Blob([new Uint8Array(piece)]), 'part')
    return data
  }

  /** Tries again while the api is away, as the SDKs do. */
  async function insist<T>(work: () => Promise<T>): Promise<T> {
    let found: { value: T } | null = null
    await eventually(async () => {
      found = await work().then(
        (value) => ({ value }),
        () => null,
      )
      return found !== null
    })
    return (found as { value: T } | null)?.value ?? assert.fail()
  }
  const kill = () => process.kill(processId(connection(), 'api'), 'SIGKILL')

  test('survives kill -9 of the api, in any order of arrival', async () => {
    const head = { filename: 'large.jsonl', purpose: 'batch', mime_type: 'application/jsonl', bytes }
    const { id } = await api.post<Made>('/openai/v1/uploads', head)
    const path = `/openai/v1/uploads/${id}`
    const ids: string[] = []
    for (const at of [...pieces.keys()].toReversed()) {
      if (at % 5 === 0) kill()
      ids[at] = (await insist(() => api.post<Made>(`${path}/parts`, form(pieces[at] as Buffer)))).id
    }
    const asked = { part_ids: ids, md5: sum }
    const first = api.post<Made>(`${path}/complete`, asked).catch(() => null)
    kill()
    await first
    const done = await insist(() => api.post<Made>(`${path}/complete`, asked))
    assert.deepEqual([done.status, done.file?.bytes], ['completed', bytes])
    const response = await fetch(`${connection().apiUrl}/openai/v1/files/${done.file?.id}/content`, {
      headers: { authorization: `Bearer ${api.apiKey}` },
    })
    const received = createHash('md5')
    for await (const piece of response.body ?? assert.fail()) received.update(piece)
    assert.equal(received.digest('hex'), sum)
    assert.equal(
      (await api.post<Made>(`${path}/complete`, asked)).file?.id,
      done.file?.id,
      'a repeat has the same file',
    )
  })
})
