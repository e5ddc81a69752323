// The parts of a multipart/form-data body (RFC 7578) as they arrive, in constant memory.
import { invalidInput } from '../domain/service-error.ts'

export type FormPart = {
  name: string
  /** Null for a plain field. */
  fileName: string | null
  /** To be read before the next part is asked for; what is not read is skipped. */
  content: AsyncIterable<Buffer>
}

const mostHeadBytes = 16 * 1024

/** @throws ServiceError invalid_input for what is no such body, and whatever the body throws */
export async function* formParts(
  body: AsyncIterable<Buffer> | Iterable<Buffer>,
  boundary: string,
): AsyncGenerator<FormPart> {
  const delimiter = Buffer.from(`\r\n--${boundary}`)
  const source = chunks(body)
  // The first delimiter has no line before it.
  let waiting = Buffer.from('\r\n')

  async function more() {
    const next = await source.next()
    if (next.done) throw invalidInput('', 'The form ends before its last boundary.')
    waiting = Buffer.concat([waiting, next.value])
  }

  /** Up to the next delimiter, which is taken off. */
  async function* untilDelimiter(): AsyncGenerator<Buffer> {
    for (;;) {
      const at = waiting.indexOf(delimiter)
      const sure = at >= 0 ? at : waiting.length - delimiter.length + 1
      const piece = waiting.subarray(0, Math.max(sure, 0))
      waiting = waiting.subarray(at >= 0 ? at + delimiter.length : piece.length)
      if (piece.length > 0) yield piece
      if (at >= 0) return
      await more()
    }
  }

  async function readHead(): Promise<string> {
    for (;;) {
      const end = waiting.indexOf('\r\n\r\n')
      if (end > mostHeadBytes || (end < 0 && waiting.length > mostHeadBytes))
        throw invalidInput('', 'The head of a part of the form is too long.')
      if (end >= 0) {
        const head = waiting.subarray(0, end).toString()
        waiting = waiting.subarray(end + 4)
        return head
      }
      await more()
    }
  }

  await skip(untilDelimiter())
  for (;;) {
    while (waiting.length < 2) await more()
    if (waiting.subarray(0, 2).toString() === '--') return skip(source)
    const content = untilDelimiter()
    yield { ...readNames(await readHead()), content }
    await skip(content)
  }
}

async function* chunks(body: AsyncIterable<Buffer> | Iterable<Buffer>): AsyncGenerator<Buffer> {
  yield* body
}

async function skip(pieces: AsyncIterator<Buffer>) {
  while (!(await pieces.next()).done);
}

function readNames(head: string): { name: string; fileName: string | null } {
  const disposition = /^content-disposition:[ \t]*form-data[ \t]*;(.*)$/im.exec(head)?.[1] ?? ''
  const parameter = (name: string) => {
    const value = `(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s";]+))`
    const [, quoted, token] = new RegExp(`(?:^|;)[ \\t]*${name}=${value}`, 'i').exec(disposition) ?? []
    return token ?? quoted?.replaceAll(/\\(.)|%22/g, (_all, escaped: string | undefined) => escaped ?? '"')
  }
  const name = parameter('name')
  if (name === undefined) throw invalidInput('', 'A part of the form has no name.')
  return { name, fileName: parameter('filename') ?? null }
}
