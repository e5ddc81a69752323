// The schemas of a request, read together: their parts multiply, so they share one bound.
import type { AskedSchema } from '../answer-shape.ts'
import { readSchema } from './read-schema.ts'
import { isJsonObject, refuse, wholeAt } from './source.ts'
import { TooMuchWork } from './steps.ts'
import { workAtOnce } from './work.ts'

/** @param at the parameter that holds the schema */
export type SentSchema = { at: string; schema: unknown }

/** More than any context holds, and 20 ms of JSON. */
const maxCharacters = 1_000_000

/**
 * @param readInThread reads schemas that would hold the event loop
 * @throws ServiceError invalid_input with the path of what is refused
 */
export async function readSchemas(
  sent: readonly SentSchema[],
  readInThread: (schemas: AskedSchema[]) => Promise<void>,
): Promise<AskedSchema[]> {
  let characters = 0
  const texts = sent.map(({ at, schema }) => {
    const place = wholeAt(at)
    if (!isJsonObject(schema)) throw refuse(place, 'must be a schema.')
    characters += shortestText(schema, maxCharacters - characters)
    if (characters > maxCharacters)
      throw refuse(place, `brings the schemas of the request to more than ${maxCharacters} characters of JSON.`)
    return { at, text: JSON.stringify(schema) }
  })
  const work = workAtOnce()
  try {
    return sent.map(({ at, schema }, index) => ({
      at,
      text: texts[index]?.text ?? '',
      parts: readSchema(schema, at, work),
    }))
  } catch (error) {
    if (!(error instanceof TooMuchWork)) throw error
  }
  const large = texts.map((each) => ({ ...each, parts: null }))
  await readInThread(large)
  return large
}

/** @returns a lower bound of the characters of JSON, at most a little more than `enough`, without writing it */
function shortestText(value: unknown, enough: number): number {
  const waiting = [value]
  let characters = 0
  while (waiting.length > 0 && characters <= enough) {
    const next = waiting.pop()
    characters += typeof next === 'string' ? next.length + 2 : 1
    if (Array.isArray(next)) {
      if (next.length > enough) return next.length
      for (const each of next) waiting.push(each)
    } else if (isJsonObject(next))
      for (const name in next) {
        characters += name.length + 3
        if (characters > enough) break
        waiting.push(next[name])
      }
  }
  return characters
}
