import { createHash } from 'node:crypto'
import { PassThrough } from 'node:stream'
import { messageOnWire } from '../domain/chat.ts'
import type { DataFile } from '../domain/training-job.ts'
import type { Storage } from '../storage/storage.ts'
import type { Answer, DatasetRow } from './read-row.ts'

const batchCharacters = 128 * 1024

/** A conversation is written once, with the positions of the answers to learn. runtime/anneal_runtime/trainer/rows.py reads it. */
export const lineOf = (row: Omit<DatasetRow, 'answers' | 'item'>) => JSON.stringify(contentOf(row))

const contentOf = ({ input, output, conversation }: Omit<DatasetRow, 'answers' | 'item'>) =>
  conversation ? { ...conversation, messages: conversation.messages.map(messageOnWire) } : { input, output }

/**
 * The lines of a row: one, or one for each judged answer. runtime/anneal_runtime/trainer/answer_rows.py reads those of answers.
 * @param source the place of the row's data set among several
 */
export function linesOf({ answers, item, ...row }: DatasetRow, source?: number): string[] {
  if (item) return [JSON.stringify({ ...promptOf(row), item, source })]
  if (!answers) return [JSON.stringify({ ...contentOf(row), source })]
  const { input, conversation } = row
  const asked = conversation
    ? {
        ...conversation,
        learned: undefined,
        muted: undefined,
        messages: conversation.messages.slice(0, -1).map(messageOnWire),
      }
    : { input }
  const [first, second] = answers.list
  if (answers.areCompared && first && second)
    return [JSON.stringify({ ...asked, chosen: onWire(first), rejected: onWire(second), source })]
  return answers.list.map((answer) =>
    JSON.stringify({ ...asked, answer: onWire(answer), label: answer.isGood, source }),
  )
}

/** A prompt, whose answers the trainer samples. */
function promptOf({ input, conversation }: Omit<DatasetRow, 'answers' | 'item'>) {
  if (!conversation) return { input }
  const { messages, tools } = conversation
  return { messages: messages.map(messageOnWire), ...(tools && { tools }) }
}

const onWire = ({ said }: Answer) => (typeof said === 'string' ? said : [messageOnWire(said)])

/** Writes rows as JSON Lines to an object and hashes them. The object exists only after `close`. */
export function openRowWriter(storage: Storage, key: string) {
  const writer = openLineWriter(storage, key)
  return {
    ...writer,
    /** @returns a promise as below */
    write: (row: DatasetRow) =>
      linesOf(row)
        .map((line) => writer.write(line))
        .at(-1),
  }
}

/** Writes lines, which hold no line end. */
export function openLineWriter(storage: Storage, key: string) {
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
    /** Bytes handed to the store so far. */
    sizeBytes: () => sizeBytes,
    /** @returns a promise to wait for when the store is slower than the caller */
    write(line: string): Promise<void> | undefined {
      batch += `${line}\n`
      rowCount++
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
