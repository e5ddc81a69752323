// Collects a request body without its rows. Parses only enough JSON to find the keys of the outermost object.
import { ServiceError } from '../domain/service-error.ts'

const quote = 0x22
const backslash = 0x5c
const [comma, colon, bracket, brace, endBracket, endBrace] = Buffer.from(',:[{]}') as unknown as number[]

export function createJsonEnvelope(fields: readonly string[], limitBytes: number) {
  const rowsAt: { piece: number; field: string }[] = []
  const pieces: Buffer[] = []
  let sizeBytes = 0
  let depth = 0
  let inString = false
  let escaped = false
  let isKey = false
  let key: number[] = []
  let awaitsValue = false

  function take(bytes: Buffer) {
    sizeBytes += bytes.length
    if (sizeBytes > limitBytes)
      throw new ServiceError(
        'payload_too_large',
        `The fields beside ${fields.join(' and ')} must not be larger than ${limitBytes / 1024 / 1024} MB together.`,
      )
    // Copy the bytes, so that they do not hold the memory of the whole chunk.
    if (bytes.length > 0) pieces.push(Buffer.from(bytes))
  }

  /** @returns the field whose array of rows opens at this byte */
  function outside(byte: number | undefined): string | undefined {
    if (byte === quote) {
      inString = true
      if (isKey) key = []
      awaitsValue = false
    } else if (byte === brace || byte === bracket) {
      const field = byte === bracket && awaitsValue ? fieldOf(key) : undefined
      if (field !== undefined && fields.includes(field)) return field
      depth++
      isKey = depth === 1 && byte === brace
      awaitsValue = false
    } else if (byte === endBrace || byte === endBracket) depth--
    else if (byte === comma) isKey = depth === 1
    else if (byte === colon) awaitsValue = depth === 1
    else if (byte !== undefined && byte > 0x20) awaitsValue = false
    return undefined
  }

  return {
    /** @returns the offset behind the bracket that opens the rows, or null when the chunk does not have it */
    push(chunk: Buffer, start: number): { field: string; offset: number } | null {
      for (let at = start; at < chunk.length; at++) {
        const byte = chunk[at]
        if (inString) {
          if (escaped) escaped = false
          else if (byte === backslash) escaped = true
          else if (byte === quote) inString = false
          if (isKey && inString && byte !== undefined && key.length < 256) key.push(byte)
          if (!inString) isKey = false
          continue
        }
        const field = outside(byte)
        if (field === undefined) continue
        awaitsValue = false
        take(chunk.subarray(start, at))
        rowsAt.push({ piece: pieces.length, field })
        return { field, offset: at + 1 }
      }
      take(chunk.subarray(start))
      return null
    },
    /** @param textOf the text that replaces the rows of a field */
    end(textOf: (field: string) => string): Buffer {
      const whole = [...pieces]
      for (const { piece, field } of rowsAt.toReversed()) whole.splice(piece, 0, Buffer.from(textOf(field)))
      return Buffer.concat(whole)
    },
  }
}

/** Decodes a key, which may contain escapes. */
function fieldOf(key: number[]): string | undefined {
  try {
    return JSON.parse(`"${Buffer.from(key).toString('utf8')}"`) as string
  } catch {
    return undefined
  }
}
