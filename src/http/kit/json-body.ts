// Parses JSON bodies. A large one is parsed in a thread and handed over in pieces, because parsing 64 MB takes half a second
// during which this process could answer nobody.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { JsonBounds } from '../../domain/json-bounds.ts'
import { ServiceError } from '../../domain/service-error.ts'
import { createThreads, neededTooMuchMemory, type Ask } from '../../worker-thread-pool.ts'
import { holdsMany } from './body-bounds.ts'
import { parseObject, readText } from './parse-json.ts'
import { attach, type PieceOfValue } from './json-split.ts'
import type { Invalid, LargeBody, LargeRow, Question } from './json-thread.ts'

const mebibyte = 1024 * 1024
/** Smaller bodies are parsed at once, in milliseconds, unless they hold many values. */
const largeBytes = mebibyte
/** After a body of this size others have their turn before it is validated. */
const turnBytes = 128 * 1024
/** Two, so that a body need not wait for another of 64 MB. */
const maxThreads = 2
/** Twice the text of the largest body and its parsed value, at two bytes a character. */
const heapLimitMegabytes = 512

export type ParsedBody = { value: object; holdsMany: boolean }

export type JsonBodies = ReturnType<typeof createJsonBodies>

export function createJsonBodies() {
  const module = new URL('./json-thread.ts', import.meta.url)
  const threads = createThreads(module, { atMost: maxThreads, heapLimitMegabytes })

  async function use<T extends object>(work: (ask: Ask) => Promise<T | Invalid>, signal: AbortSignal): Promise<T> {
    try {
      const answer = await threads.use(work, signal)
      if ('invalid' in answer) throw new ServiceError('invalid_input', answer.invalid, { issues: [...answer.issues] })
      return answer
    } catch (error) {
      if (neededTooMuchMemory(error)) throw tooMuchMemory()
      throw error
    }
  }

  return {
    /**
     * @param bytes a large body is given away: it is empty afterwards
     * @param signal called only for a large body; aborting gives up its place in the queue
     * @throws ServiceError invalid_input, payload_too_large; the signal's reason
     */
    async parse(bytes: Buffer, bounds: JsonBounds, signal: () => AbortSignal): Promise<ParsedBody> {
      if (bytes.length <= largeBytes) {
        const { text, values } = readText(bytes, bounds)
        if (!holdsMany(values)) {
          const value = parseObject(text)
          if (bytes.length > turnBytes) await nextTurn()
          return { value, holdsMany: false }
        }
      }
      const { value, values } = await use((ask) => receive(ask, { body: bytes, bounds }), signal())
      return { value, holdsMany: holdsMany(values) }
    },

    /**
     * Checks that a large row is an object that our stores can hold.
     * @param bytes given away
     * @returns the bytes
     * @throws as `parse`
     */
    async checkRow(bytes: Buffer, path: string, signal: () => AbortSignal): Promise<Buffer> {
      const question: Question = { row: bytes, path }
      const { row } = await use((ask) => ask(question, [bytes.buffer as ArrayBuffer]) as Promise<LargeRow>, signal())
      return Buffer.from(row.buffer, row.byteOffset, row.byteLength)
    },
  }
}

async function receive(ask: Ask, question: { body: Buffer; bounds: JsonBounds }): Promise<LargeBody> {
  // Buffers of this size share their memory with no other.
  const body = (await ask(question satisfies Question, [question.body.buffer as ArrayBuffer])) as LargeBody
  if ('invalid' in body) return body
  for (;;) {
    // Node receives all messages that have arrived in one turn, and the thread answers at once.
    await nextTurn()
    const piece = (await ask('more' satisfies Question)) as PieceOfValue | null
    if (!piece) return body
    attach(body.value, piece)
  }
}

const tooMuchMemory = () =>
  new ServiceError('payload_too_large', 'Parsing the body needs too much memory. Split it into several requests.')
