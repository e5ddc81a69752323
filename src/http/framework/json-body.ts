// Parses JSON bodies. A large one is parsed in a thread and handed over in pieces, because parsing 64 MB takes half a second
// during which this process could answer nobody.
import { ServiceError, invalidInput } from '../../domain/service-error.ts'
import { createThreads, neededTooMuchMemory, type Ask } from '../../worker-thread-pool.ts'
import { parseObject } from './parse-json.ts'
import type { LargeBody, PieceOfList } from './json-thread.ts'

/** Bodies up to this size are parsed at once, in a few milliseconds. */
const largeBytes = 1024 * 1024
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
     * @param signal called only for a large body; aborting gives up its place in the queue
     * @throws ServiceError invalid_input, payload_too_large; the signal's reason
     */
    async parse(bytes: Buffer, signal: () => AbortSignal): Promise<object> {
      return bytes.length <= largeBytes ? parseObject(bytes) : parseLarge(bytes, signal())
    },
  }
}

async function receive(ask: Ask, bytes: Buffer): Promise<LargeBody> {
  const body = (await ask(bytes)) as LargeBody
  if ('invalid' in body) return body
  for (let left = body.pieces; left > 0; left--) {
    const { field, items } = (await ask('more')) as PieceOfList
    const list = body.value[field] as unknown[]
    for (const item of items) list.push(item)
  }
  return body
}

const tooMuchMemory = () =>
  new ServiceError('payload_too_large', 'Parsing the body needs too much memory. Split it into several requests.')
