// Parses JSON bodies. A large one is parsed in a thread and handed over in pieces, because parsing 64 MB takes half a second
// during which this process could answer nobody.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ServiceError, invalidInput } from '../../domain/service-error.ts'
import { createThreads, neededTooMuchMemory, type Ask } from '../../worker-thread-pool.ts'
import { parseObject } from './parse-json.ts'
import { attach, type PieceOfValue } from './json-split.ts'
import type { LargeBody } from './json-thread.ts'

/** Bodies up to this size are parsed at once, in 30 milliseconds at most. */
const largeBytes = 1024 * 1024
/** After a body of this size others have their turn before it is validated. */
const turnBytes = 128 * 1024
/** Two, so that a body need not wait for another of 64 MB. */
const maxThreads = 2
/** Twice the text of the largest body and its parsed value, at two bytes a character. */
const heapLimitMegabytes = 512

export type JsonBodies = ReturnType<typeof createJsonBodies>

export function createJsonBodies() {
  const module = new URL('./json-thread.ts', import.meta.url)
  const threads = createThreads(module, { atMost: maxThreads, heapLimitMegabytes })

  async function parseLarge(bytes: Buffer, signal: AbortSignal): Promise<object> {
    try {
      const body = await threads.use((ask) => receive(ask, bytes), signal)
      if ('invalid' in body) throw invalidInput('', body.invalid)
      return body.value
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
    async parse(bytes: Buffer, signal: () => AbortSignal): Promise<object> {
      if (bytes.length > largeBytes) return parseLarge(bytes, signal())
      const value = parseObject(bytes)
      if (bytes.length > turnBytes) await nextTurn()
      return value
    },
  }
}

async function receive(ask: Ask, bytes: Buffer): Promise<LargeBody> {
  // Buffers of this size share their memory with no other.
  const body = (await ask(bytes, [bytes.buffer as ArrayBuffer])) as LargeBody
  if ('invalid' in body) return body
  for (;;) {
    // Node receives all messages that have arrived in one turn, and the thread answers at once.
    await nextTurn()
    const piece = (await ask('more')) as PieceOfValue | null
    if (!piece) return body
    attach(body.value, piece)
  }
}

const tooMuchMemory = () =>
  new ServiceError('payload_too_large', 'Parsing the body needs too much memory. Split it into several requests.')
