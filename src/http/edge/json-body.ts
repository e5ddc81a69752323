// Bodies of JSON. A large one is parsed in a thread and comes from there in pieces: 64 MB at once take most of a second, in
// which nobody else would be answered.
import { Worker } from 'node:worker_threads'
import { askThread, neededTooMuchMemory } from '../../ask-thread.ts'
import { invalidInput, ServiceError } from '../../domain/service-error.ts'
import type { LargeBody, PieceOfList } from './json-thread.ts'
import { parseObject } from './json-text.ts'

/** A smaller one is parsed in ten milliseconds; a thread takes as many megabytes. */
const largeBytes = 1024 * 1024
/** Of V8's heap: the largest body, of the smallest values. */
const heapLimitMegabytes = 2048

export type JsonBodies = ReturnType<typeof createJsonBodies>

/** For the JSON of one server; large bodies take turns. */
export function createJsonBodies() {
  let thread: Worker | null = null
  let turn: Promise<unknown> = Promise.resolve()

  function take(): Worker {
    if (thread) return thread
    const started = new Worker(new URL('./json-thread.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: heapLimitMegabytes },
    })
    // Who waits for its answer hears of it.
    started.on('error', () => undefined)
    started.once('exit', () => (thread = null))
    started.unref()
    return (thread = started)
  }

  async function parseLarge(bytes: Buffer): Promise<object> {
    try {
      const parser = take()
      const body = (await askThread(parser, bytes)) as LargeBody
      if ('invalid' in body) throw invalidInput('', body.invalid)
      for (let left = body.pieces; left > 0; left--) {
        const { field, items } = (await askThread(parser, 'more')) as PieceOfList
        const list = body.value[field] as unknown[]
        for (const item of items) list.push(item)
      }
      return body.value
    } catch (error) {
      if (neededTooMuchMemory(error)) throw tooManyValues()
      throw error
    }
  }

  return {
    /** @throws ServiceError invalid_input, payload_too_large */
    async parse(bytes: Buffer): Promise<object> {
      if (bytes.length <= largeBytes) return parseObject(bytes)
      const parsed = turn.then(() => parseLarge(bytes))
      turn = parsed.catch(() => undefined)
      return parsed
    },
  }
}

const tooManyValues = () =>
  new ServiceError('payload_too_large', 'The body holds more values than fit in memory: send it in several requests.')
