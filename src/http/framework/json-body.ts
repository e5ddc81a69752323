// Bodies of JSON. A large one is parsed in a thread and comes from there in pieces: 64 MB at once take half a second, in
// which nobody else would be answered.
import { ServiceError, invalidInput } from '../../domain/service-error.ts'
import { createThreads, neededTooMuchMemory, type Ask } from '../../worker-thread-pool.ts'
import { parseObject } from './parse-json.ts'
import type { LargeBody, PieceOfList } from './json-thread.ts'

/** A smaller one is parsed in some milliseconds. */
const largeBytes = 1024 * 1024
/** A second body need not wait for a first one of 64 MB. */
const maxThreads = 2
/** The text of the largest body and what it is parsed to, both of two bytes a character, twice over. */
const heapLimitMegabytes = 512
/** Of bodies that wait for their turn or are being parsed. */
const maxHeldBytes = 512 * 1024 * 1024
const retryAfterSeconds = 2

export type JsonBodies = ReturnType<typeof createJsonBodies>

export function createJsonBodies() {
  const module = new URL('./json-thread.ts', import.meta.url)
  const threads = createThreads(module, { atMost: maxThreads, heapLimitMegabytes })
  let heldBytes = 0

  async function parseLarge(bytes: Buffer, signal: AbortSignal): Promise<object> {
    if (heldBytes + bytes.length > maxHeldBytes) throw tooManyAtOnce()
    heldBytes += bytes.length
    try {
      const body = await threads.use((ask) => receive(ask, bytes), signal)
      if ('invalid' in body) throw invalidInput('', body.invalid)
      return body.value
    } catch (error) {
      if (neededTooMuchMemory(error)) throw tooManyValues()
      throw error
    } finally {
      heldBytes -= bytes.length
    }
  }

  return {
    /**
     * @param signal asked for only when the body is large; with it, its place is given up
     * @throws ServiceError invalid_input, payload_too_large, unavailable; the signal's reason
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

const tooManyValues = () =>
  new ServiceError('payload_too_large', 'The body holds more than fits in memory: send it in several requests.')

const tooManyAtOnce = () =>
  new ServiceError('unavailable', 'Too many large bodies are being read at this moment; try again.', {
    retryAfterSeconds,
  })
