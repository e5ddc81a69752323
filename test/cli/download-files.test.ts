import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, beforeEach, test } from 'node:test'
import { downloadFiles, type LinkedFile } from '../../src/cli/remote/download-files.ts'

const bytes = randomBytes(200_000)
const sha256 = createHash('sha256').update(bytes).digest('hex')
const ranges: (string | undefined)[] = []
/** What the store does with each request, in order: sends so many bytes and breaks the connection, or all. */
let breaks: number[] = []
let content = bytes

const server = createServer((request, response) => {
  const { range } = request.headers
  ranges.push(range)
  const begin = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0)
  const end = breaks.shift()
  response.writeHead(range === undefined ? 200 : 206, { 'Content-Length': content.length - begin })
  if (end === undefined) response.end(content.subarray(begin))
  else response.write(content.subarray(begin, end), () => response.destroy())
}).listen(0, '127.0.0.1')
await once(server, 'listening')
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/file`
const top = mkdtempSync(join(tmpdir(), 'anneal-download-'))
after(() => {
  server.close()
  rmSync(top, { recursive: true })
})

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(top, 'run-'))
  ranges.length = 0
  breaks = []
  content = bytes
})

const file: LinkedFile = { name: 'model.safetensors', url, sha256, sizeBytes: bytes.length }
const download = (files: LinkedFile[] = [file], isEarlier?: Parameters<typeof downloadFiles>[0]['isEarlier']) =>
  downloadFiles({
    folder,
    ...(isEarlier && { isEarlier }),
    linksOf: async () => files,
    say: () => undefined,
    signal: new AbortController().signal,
  })

test('a broken connection is tried again, and a repeat of the command loads nothing', async () => {
  breaks = [50_000, 120_000]
  await download()
  assert.deepEqual(readFileSync(join(folder, file.name)), bytes)
  assert.equal(ranges.length, 3)
  await download()
  assert.deepEqual([ranges.length, readdirSync(folder)], [3, [file.name]])
})

test('a repeat goes on with the part of a command that was ended', async () => {
  writeFileSync(join(folder, `${file.name}.${sha256.slice(0, 12)}.part`), bytes.subarray(0, 150_000))
  await download()
  assert.deepEqual(ranges, ['bytes=150000-'])
  assert.deepEqual(readFileSync(join(folder, file.name)), bytes)
})

test('a file with a wrong hash is removed, and the command fails', async () => {
  content = randomBytes(bytes.length)
  await assert.rejects(download(), /came with a wrong hash/)
  assert.deepEqual(readdirSync(folder), [])
})

test('another file of the same name is left as it is', async () => {
  writeFileSync(join(folder, file.name), 'mine')
  await assert.rejects(download(), /is another file than/)
  assert.equal(readFileSync(join(folder, file.name), 'utf8'), 'mine')
})

test('an earlier file is replaced', async () => {
  writeFileSync(join(folder, file.name), 'an earlier card')
  await download([file], ({ path }) => readFileSync(path, 'utf8') === 'an earlier card')
  assert.deepEqual(readFileSync(join(folder, file.name)), bytes)
})

test('no name leads out of the folder', async () => {
  await assert.rejects(download([{ ...file, name: '../outside' }]), /no file name/)
  assert.equal(ranges.length, 0)
})
