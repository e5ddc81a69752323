import { isUtf8 } from 'node:buffer'
import type { z } from 'zod'
import { JobLine, RecordLine } from '../../domain/job-record.ts'
import { invalidInput } from '../../domain/service-error.ts'

/** One is read at a time on the event loop. */
const mostLineBytes = 1024 * 1024
/** Of each type. An import writes them in one transaction. */
const mostLines = 200_000
/** NUL and lone surrogates, as `JSON.stringify` escapes them: Postgres refuses both. */
const unstorable = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/

/** Reads the first line of a record, which is the job. @throws ServiceError invalid_input */
export async function readJobLine(bytes: AsyncIterable<Buffer>): Promise<JobLine> {
  for await (const line of linesIn(bytes)) return checked(JobLine, line, 1)
  throw invalidInput('record', 'The record is empty.')
}

/** Reads the lines after the first one. @throws ServiceError invalid_input */
export async function* readRecordLines(bytes: AsyncIterable<Buffer>): AsyncGenerator<RecordLine> {
  let number = 0
  for await (const line of linesIn(bytes)) if (++number > 1) yield checked(RecordLine, line, number)
}

/** Reads all lines, and keeps none. @throws ServiceError invalid_input */
export async function checkRecord(bytes: AsyncIterable<Buffer>): Promise<void> {
  const none = () => ({ count: 0, last: -1 })
  const seen = { attempt: none(), step: none(), event: none(), evaluation: none() }
  const refused = (reason: string) => invalidInput('record', `The record ${reason}`)
  for await (const line of readRecordLines(bytes)) {
    const of = seen[line.type]
    const number = numberOf(line) ?? of.count
    if (number <= of.last) throw refused(`names ${line.type} ${number} twice, or after a later one.`)
    if (++of.count > mostLines) throw refused(`has more than ${mostLines} lines of the type ${line.type}.`)
    of.last = number
  }
}

/** Null for an event: events have no numbers. */
function numberOf(line: RecordLine): number | null {
  switch (line.type) {
    case 'attempt':
      return line.number
    case 'step':
      return line.step
    case 'evaluation':
      return line.index
    case 'event':
      return null
  }
}

async function* linesIn(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer[] = []
  let restBytes = 0
  for await (const chunk of bytes) {
    let start = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      yield Buffer.concat([...rest, chunk.subarray(start, end)])
      ;[rest, restBytes, start] = [[], 0, end + 1]
    }
    rest.push(chunk.subarray(start))
    restBytes += chunk.length - start
    if (restBytes > mostLineBytes)
      throw invalidInput('record', `A line of the record has more than ${mostLineBytes} bytes.`)
  }
  if (restBytes > 0) yield Buffer.concat(rest)
}

function checked<T extends z.ZodType>(schema: T, line: Buffer, number: number): z.output<T> {
  const refused = (reason: string) => invalidInput('record', `Line ${number} of the record ${reason}`)
  if (!isUtf8(line)) throw refused('is no UTF-8.')
  const parsed = parse(schema, line.toString())
  if (!parsed) throw refused('is no JSON, or nested too deep.')
  if (parsed === 'unstorable') throw refused('holds the character NUL or a lone surrogate.')
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw refused(`is not as expected: ${issue?.path.join('.')}: ${issue?.message}`)
}

/** Null for what is no JSON. A text that is nested too deep ends the stack of the check. */
function parse<T extends z.ZodType>(schema: T, text: string) {
  try {
    const value: unknown = JSON.parse(text)
    return unstorable.test(JSON.stringify(value)) ? 'unstorable' : schema.safeParse(value)
  } catch {
    return null
  }
}
