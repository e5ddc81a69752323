// The lines of a stored file that a program of ours has written, one at a time.
import { DatasetInvalidError } from './dataset-invalid-error.ts'

/** A line is parsed as a whole. */
const lineBytes = 32 * 1024 * 1024

/** @throws DatasetInvalidError for a line that is too long to be parsed */
export async function* linesOf(file: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let begun: Buffer[] = []
  let sizeBytes = 0
  for await (const chunk of file) {
    let from = 0
    for (let end = chunk.indexOf(0x0a); end !== -1; end = chunk.indexOf(0x0a, from)) {
      yield Buffer.concat([...begun, chunk.subarray(from, end)])
      begun = []
      sizeBytes = 0
      from = end + 1
    }
    begun.push(chunk.subarray(from))
    sizeBytes += chunk.length - from
    if (sizeBytes > lineBytes)
      throw new DatasetInvalidError(`A group of this step has more than ${lineBytes >> 20} MiB and cannot be shown.`)
  }
  if (sizeBytes > 0) yield Buffer.concat(begun)
}
