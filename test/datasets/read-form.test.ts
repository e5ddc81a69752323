import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { test } from 'node:test'
import { readForm } from '../../src/datasets/read-form.ts'

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

async function read(chunks: Iterable<Buffer> | AsyncIterable<Buffer>) {
  const files: { name: string; fileName: string; text: string }[] = []
  const fields = await readForm(chunks, boundary, async ({ name, fileName, content }) => {
    files.push({ name, fileName, text: Buffer.concat(await Array.fromAsync(content)).toString() })
  })
  return { fields, files }
}

for (const size of [1, 2, 3, 7, 64, 1000])
  test(`reads a form that comes in pieces of ${size} bytes`, async () => {
    assert.deepEqual(await read(cut(form, size)), {
      fields: [
        ['purpose', 'fine-tune'],
        ['empty', ''],
      ],
      files: [{ name: 'file', fileName: 'a "b".jsonl', text: content.toString() }],
    })
  })

test('names may come without quotes', async () => {
  const head = 'Content-Disposition: form-data; name=file; filename=chat.jsonl'
  const { files } = await read([Buffer.from(`--a-b_c\r\n${head}\r\n\r\nx\r\n--a-b_c--`)])
  assert.deepEqual(files, [{ name: 'file', fileName: 'chat.jsonl', text: 'x' }])
})

test('refuses a form that breaks off, wherever it does', async () => {
  for (const end of [0, 10, 40, 100, 200, form.length - 20])
    await assert.rejects(read([form.subarray(0, end)]), { code: 'invalid_input' }, String(end))
  await assert.rejects(read(cut(Buffer.from(`--a-b_c\r\nX: ${'y'.repeat(20_000)}`), 1000)), { code: 'invalid_input' })
})

test('refuses a part without a name, a second file, too many fields and a long field', async () => {
  const part = (head: string, text = 'x') => `--a-b_c\r\nContent-Disposition: form-data${head}\r\n\r\n${text}\r\n`
  const file = part('; name="file"; filename="a"')
  for (const [parts, message] of [
    [part(''), /has no name/],
    [part('; filename="a"'), /has no name/],
    [file + file, /one file only/],
    [part('; name="a"').repeat(40), /at most 32 fields/],
    [part('; name="a"', 'x'.repeat(20_000)), /^a must have at most 16384 bytes/],
  ] as const)
    await assert.rejects(read([Buffer.from(`${parts}--a-b_c--\r\n`)]), { code: 'invalid_input', message })
})

test('asks for no more of the body than the reader of the file takes', async () => {
  const pieceBytes = 64 * 1024
  let sent = 0
  function* endless() {
    yield Buffer.from('--a-b_c\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n')
    for (;;) {
      sent++
      yield Buffer.alloc(pieceBytes)
    }
  }
  const stopped = new Error('the store is away')
  const receiving = readForm(endless(), boundary, async ({ content }) => {
    let received = 0
    for await (const piece of content) {
      received += piece.length
      for (let turn = 0; turn < 5; turn++) await nextTurn()
      assert.ok(sent * pieceBytes - received <= 4 * pieceBytes, `${sent} pieces sent, ${received} bytes received`)
      if (received > 100 * pieceBytes) throw stopped
    }
  })
  await assert.rejects(receiving, stopped)
})

test('a body that fails fails the reader of its file, and is over only after it', async () => {
  async function* broken() {
    yield Buffer.from('--a-b_c\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nabc')
    await nextTurn()
    throw new Error('cut off')
  }
  let seen = ''
  const receiving = readForm(broken(), boundary, async ({ content }) => {
    await nextTurn()
    await nextTurn()
    await assert.rejects(Array.fromAsync(content), /cut off/)
    seen = 'failed'
    throw new Error('aborted')
  })
  await assert.rejects(receiving, /cut off/)
  assert.equal(seen, 'failed')
})
