import { createHash } from 'node:crypto'
import { PassThrough } from 'node:stream'
import { plainChat } from '../domain/chat.ts'
import type { DataFile } from '../domain/training-job.ts'
import type { Storage } from '../storage/storage.ts'
import type { DatasetRow } from './dataset-row.ts'

const batchCharacters = 128 * 1024

/** A conversation has a line for each answer to train on. */
const linesOf = ({ input, output, answers }: DatasetRow) =>
  answers?.map(({ messages, output }) => ({ input: plainChat(messages), output, messages })) ?? [{ input, output }]

/** Writes rows as JSON Lines to an object and hashes them. The object exists only after `close`. */
export function openRowWriter(storage: Storage, key: string) {
  const stream = new PassThrough({ highWaterMark: 1 << 20 })
  const hash = createHash('sha256')
  let batch = ''
  let sizeBytes = 0
  let rowCount = 0
  const written = storage.writeStream(key, stream)
  // `close` reports a failure; until then it must not count as unhandled.
  written.catch(() => stream.destroy())

  async function flush() {
    const bytes = Buffer.from(batch)
    batch = ''
    hash.update(bytes)
    sizeBytes += bytes.length
    if (!stream.write(bytes) && !stream.destroyed)
      await new Promise<void>((resolve) => stream.once('drain', resolve).once('close', resolve))
  }

  return {
    rowCount: () => rowCount,
    /** @returns a promise to wait for when the store is slower than the caller */
    write(row: DatasetRow): Promise<void> | undefined {
      for (const line of linesOf(row)) {
        batch += `${JSON.stringify(line)}\n`
        rowCount++
      }
      return batch.length > batchCharacters ? flush() : undefined
    },
    async close(): Promise<DataFile> {
      await flush()
      stream.end()
      await written
      return { key, sizeBytes, sha256: hash.digest('hex'), rowCount }
    },
    async abandon() {
      stream.destroy(new Error('abandoned'))
      await written.catch(() => undefined)
    },
  }
}
