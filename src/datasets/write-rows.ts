import { createHash } from 'node:crypto'
import { PassThrough } from 'node:stream'
import { plainChat } from '../domain/chat.ts'
import type { DataFile } from '../domain/training-job.ts'
import type { Storage } from '../storage/storage.ts'
import type { DatasetRow } from './dataset-row.ts'

const batchCharacters = 128 * 1024

/** A conversation has a line for each answer that is learned. */
const linesOf = ({ input, output, answers }: DatasetRow) =>
  answers?.map(({ messages, output }) => ({ input: plainChat(messages), output, messages })) ?? [{ input, output }]

/** JSON Lines to an object, hashed on the way. Nothing of it is there before `close` has ended. */
export function openRowWriter(storage: Storage, key: string) {
  const stream = new PassThrough({ highWaterMark: 1 << 20 })
  const hash = createHash('sha256')
  let batch = ''
  let sizeBytes = 0
  let rowCount = 0
  const written = storage.writeStream(key, stream)
  // Reported by `close`; a failure must not count as unhandled before.
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
    /** @returns something to wait for, when the store is behind */
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
