import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { requestLines } from '../../../src/domain/inference-batch.ts'
import { maxLines, scanLines } from '../../../src/services/batches/scan-lines.ts'

async function* inPieces(text: string, size: number) {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

suite('the lines of a file of requests', () => {
  test('are found whole in pieces of any size, without blank lines', async () => {
    const lines = Array.from({ length: 300 }, (_, at) => `{"line": ${at}, "text": "naïve ${'x'.repeat(at % 7)}"}`)
    const text = `\n${lines.join('\r\n \t\n')}\n\n`
    for (const size of [1, 3, 64, 1 << 20]) {
      const { chunks, chunkSize, lineCount } = await scanLines(inPieces(text, size))
      assert.deepEqual([lineCount, chunkSize, chunks.length], [300, 128, 3])
      const bytes = Buffer.from(text)
      const read = chunks.map(({ offset, sizeBytes }) =>
        requestLines(bytes.subarray(offset, offset + sizeBytes).toString()),
      )
      assert.deepEqual(
        read.map(({ length }) => length),
        [128, 128, 44],
      )
      assert.deepEqual(
        read.flat().map((line) => line.trim()),
        lines,
      )
    }
  })

  test('share smaller chunks when they are long', async () => {
    const { chunks, chunkSize } = await scanLines(inPieces(`${'x'.repeat(1 << 19)}\n`.repeat(20), 1 << 16))
    assert.deepEqual([chunkSize, chunks.length], [8, 3])
  })

  test('are refused by number when a line is too long, or when there are too many or none', async () => {
    const refused = (text: string, message: RegExp) =>
      assert.rejects(scanLines(inPieces(text, 1 << 16)), (error: Error) => message.test(error.message))
    await refused(`{}\n${'x'.repeat((1 << 20) + 1)}`, /line 2 has more than 1048576 bytes/)
    await refused('{}\n'.repeat(maxLines + 1), /more than 50000 lines/)
    await refused(' \n\r\n', /it has no line/)
  })
})
