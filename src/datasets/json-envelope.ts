// A request body without its rows. Knows just enough of JSON to find a key of the outermost object.
import { ServiceError } from '../domain/service-error.ts'

const quote = 0x22
const backslash = 0x5c
const [comma, colon, bracket, brace, endBracket, endBrace] = Buffer.from(',:[{]}') as unknown as number[]

/** Everything but the rows. */
export function createBodyRest(fields: readonly string[], limitBytes: number) {
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
        `Beside ${fields.join(' and ')}, the body may have ${limitBytes / 1024 / 1024} MB.`,
      )
    // A copy: the chunk's memory would be held for a few bytes of it.
    if (bytes.length > 0) pieces.push(Buffer.from(bytes))
  }

  /** @returns the field whose array opens here */
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
    /** @returns the offset behind the bracket that opens the rows, or null when it is not in this chunk */
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
    /** @param textOf what stands in the place of a field's rows */
    end(textOf: (field: string) => string): Buffer {
      const whole = [...pieces]
      for (const { piece, field } of rowsAt.toReversed()) whole.splice(piece, 0, Buffer.from(textOf(field)))
      return Buffer.concat(whole)
    },
  }
}

/** Keys may be written with escapes. */
function fieldOf(key: number[]): string | undefined {
  try {
    return JSON.parse(`"${Buffer.from(key).toString('utf8')}"`) as string
  } catch {
    return undefined
  }
}
