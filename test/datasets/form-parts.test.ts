import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formParts } from '../../src/datasets/form-parts.ts'

const boundary = 'a-b_c'
const content = Buffer.from(`one\r\n--a-b\r\n\r\n--a-b_\r\n${'x'.repeat(300)}\r\n`)
const form = Buffer.concat([
  Buffer.from('a preamble\r\n--a-b_c\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nfine-tune\r\n'),
  Buffer.from('--a-b_c\r\ncontent-disposition: form-data; filename="a %22b\\".jsonl"; name="file"\r\n'),
  Buffer.from('Content-Type: application/octet-stream\r\n\r\n'),
  content,
  Buffer.from('\r\n--a-b_c\r\nContent-Disposition: form-data; name="empty"\r\n\r\n\r\n--a-b_c--\r\nan epilogue'),
])

const cut = (bytes: Buffer, size: number) =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.subarray(at * size, (at + 1) * size))

async function read(chunks: Buffer[], { isSkipping = false } = {}) {
  const parts = []
  for await (const { name, fileName, content } of formParts(chunks, boundary)) {
    const bytes = isSkipping ? [] : await Array.fromAsync(content)
    parts.push({ name, fileName, text: Buffer.concat(bytes).toString() })
  }
  return parts
}

const expected = [
  { name: 'purpose', fileName: null, text: 'fine-tune' },
  { name: 'file', fileName: 'a "b".jsonl', text: content.toString() },
  { name: 'empty', fileName: null, text: '' },
]

for (const size of [1, 2, 3, 7, 64, 1000])
  test(`reads a form that comes in pieces of ${size} bytes`, async () => {
    assert.deepEqual(await read(cut(form, size)), expected)
  })

test('names may come without quotes', async () => {
  const head = 'Content-Disposition: form-data; name=file; filename=chat.jsonl'
  const parts = await read([Buffer.from(`--a-b_c\r\n${head}\r\n\r\nx\r\n--a-b_c--`)])
  assert.deepEqual(parts, [{ name: 'file', fileName: 'chat.jsonl', text: 'x' }])
})

test('skips what is not read', async () => {
  const names = (await read(cut(form, 5), { isSkipping: true })).map(({ name }) => name)
  assert.deepEqual(names, ['purpose', 'file', 'empty'])
})

test('refuses what breaks off, has no name, or an endless head', async () => {
  for (const end of [0, 10, 40, 100, 200, form.length - 20])
    await assert.rejects(read([form.subarray(0, end)]), { code: 'invalid_input' }, String(end))
  await assert.rejects(read([Buffer.from('--a-b_c\r\nContent-Type: text/plain\r\n\r\nx\r\n--a-b_c--')]), /has no name/)
  const head = Buffer.from(`--a-b_c\r\nX: ${'y'.repeat(20_000)}`)
  await assert.rejects(read(cut(head, 1000)), /too long/)
})
