import { createJsonCount, tooDeep, type JsonBounds } from '../../domain/json-bounds.ts'
import { invalidInput } from '../../domain/service-error.ts'
import { parseJson } from './key-order.ts'

const decoder = new TextDecoder('utf-8', { fatal: true })

export type BodyText = { text: string; values: number }

/** Reads a body that has not been parsed yet. @throws ServiceError invalid_input */
export function readText(body: Uint8Array, bounds: JsonBounds): BodyText {
  let text: string
  try {
    text = decoder.decode(body)
  } catch {
    throw invalidInput('', 'The body is not valid UTF-8. Send JSON encoded as UTF-8.')
  }
  const count = createJsonCount(bounds)
  const excess = count.add(text)
  if (excess !== null) {
    const advice =
      excess === tooDeep ? '' : excess.endsWith('values') ? ' Split it into several requests.' : ' Shorten it.'
    throw invalidInput('', `The body ${excess}.${advice}`)
  }
  return { text, values: count.values() }
}

/** @throws ServiceError invalid_input */
export function parseObject(text: string): object {
  let value: unknown
  try {
    value = parseJson(text)
  } catch (error) {
    throw invalidInput(
      '',
      `The body is not valid JSON: ${error instanceof Error ? error.message : 'it cannot be read'}.`,
    )
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalidInput('', 'The body must be a JSON object.')
  return value
}
