import { invalidInput } from '../../domain/service-error.ts'
import { parseJson } from './key-order.ts'

/** A thread hands over values outside of lists at once, so their number is bounded; texts make a body large. */
const maxValues = 500_000
/** Deeper values overflow the stack of what walks through them; no request needs half of it. */
const maxDepth = 100

const decoder = new TextDecoder('utf-8', { fatal: true })

/** @throws ServiceError invalid_input */
export function parseObject(body: Buffer): object {
  let text: string
  try {
    text = decoder.decode(body)
  } catch {
    throw invalidInput('', 'The body is not valid UTF-8. Send JSON encoded as UTF-8.')
  }
  const invalid = invalidReason(body)
  if (invalid !== null) throw invalidInput('', `The body ${invalid}`)
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

const quote = 0x22
const backslash = 0x5c
const [comma, bracket, brace, endBracket, endBrace] = Buffer.from(',[{]}') as unknown as number[]

/**
 * Scans the bytes before anything is parsed. Tells strings from the rest; the parser checks the syntax.
 * @returns what completes the sentence "The body …", or null
 */
export function invalidReason(bytes: Buffer): string | null {
  let [depth, values] = [0, 1]
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === quote) at = stringEnd(bytes, at + 1)
    else if (byte === bracket || byte === brace) {
      values++
      if (++depth > maxDepth) return `is nested more than ${maxDepth} levels deep.`
    } else if (byte === endBracket || byte === endBrace) depth--
    else if (byte === comma && ++values > maxValues)
      return `holds more than ${maxValues} values. Split it into several requests.`
  }
  return null
}

function stringEnd(bytes: Buffer, from: number): number {
  for (let end = bytes.indexOf(quote, from); end !== -1; end = bytes.indexOf(quote, end + 1)) {
    let before = end
    while (bytes[before - 1] === backslash) before--
    if ((end - before) % 2 === 0) return end
  }
  return bytes.length
}
