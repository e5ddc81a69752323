import type { z } from 'zod'
import { JobLine, RecordLine } from '../../domain/job-record.ts'
import { invalidInput } from '../../domain/service-error.ts'

const mostLineBytes = 16 * 1024 * 1024

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
  let value: unknown
  try {
    value = JSON.parse(line.toString())
  } catch {
    throw refused('is no JSON.')
  }
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw refused(`is not as expected: ${issue?.path.join('.')}: ${issue?.message}`)
}
