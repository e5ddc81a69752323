import type { z } from 'zod'
import { JobLine, RecordLine } from '../../domain/job-record.ts'
import { invalidInput } from '../../domain/service-error.ts'

/** One is read at a time on the event loop. */
const mostLineBytes = 1024 * 1024
/** Of each type. An import writes them in one transaction. */
const mostLines = 200_000
/** Postgres has no such character. */
const nul = /(?<!\\)(?:\\\\)*\\u0000/

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
  const seen = { attempt: { count: 0, last: -1 }, step: { count: 0, last: -1 }, evaluation: { count: 0, last: -1 } }
  let eventCount = 0
  const refused = (reason: string) => invalidInput('record', `The record ${reason}`)
  for await (const line of readRecordLines(bytes)) {
    if (line.type === 'event') {
      if (++eventCount > mostLines) throw refused(`has more than ${mostLines} events.`)
      continue
    }
    const of = seen[line.type]
    const number = line.type === 'attempt' ? line.number : line.type === 'step' ? line.step : line.index
    if (number <= of.last) throw refused(`names ${line.type} ${number} twice, or after a later one.`)
    if (++of.count > mostLines) throw refused(`has more than ${mostLines} lines of the type ${line.type}.`)
    of.last = number
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
  const text = line.toString()
  if (nul.test(text)) throw refused('holds the character NUL.')
  const parsed = parse(schema, text)
  if (!parsed) throw refused('is no JSON, or nested too deep.')
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw refused(`is not as expected: ${issue?.path.join('.')}: ${issue?.message}`)
}

/** Null for what is no JSON. A text that is nested too deep ends the stack of the check. */
function parse<T extends z.ZodType>(schema: T, text: string) {
  try {
    return schema.safeParse(JSON.parse(text))
  } catch {
    return null
  }
}
