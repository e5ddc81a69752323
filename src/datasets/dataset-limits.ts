// Bounds of one check, so that no data set holds a thread for long or fills the disk.
import { DatasetInvalidError } from './dataset-invalid-error.ts'

export type DatasetLimits = {
  /** The most bytes of a file after decompression. The rows prepared from the file may take twice as much. */
  unpackedBytes: number
  /** Processor time of a check and of the preparation after it. Waiting for the store does not count. */
  checkSeconds: number
}

export const defaultDatasetLimits: DatasetLimits = { unpackedBytes: 8 * 1024 ** 3, checkSeconds: 900 }

/** Reasons that follow the line where the limit was reached; null within the limit. */
export function createLimitWatch({ unpackedBytes, checkSeconds }: DatasetLimits) {
  const startedMicros = processorMicros()
  const preparedBytes = 2 * unpackedBytes
  const watch = {
    timeProblem: (): string | null =>
      processorMicros() - startedMicros <= checkSeconds * 1e6
        ? null
        : `the check took more than ${checkSeconds} seconds of processor time up to here; split the data set`,

    /** @throws DatasetInvalidError */
    requireRoom({ name, line, writtenBytes }: { name: string; line: number; writtenBytes: number }) {
      const problem =
        writtenBytes > preparedBytes
          ? `the prepared rows take more than ${gigabytes(preparedBytes)} up to here; split the data set`
          : watch.timeProblem()
      if (problem !== null) throw new DatasetInvalidError(`The ${name} cannot be used: line ${line}: ${problem}.`)
    },
  }
  return watch
}

export type LimitWatch = ReturnType<typeof createLimitWatch>

export const gigabytes = (bytes: number) => `${Number((bytes / 1024 ** 3).toPrecision(3))} GB`

function processorMicros(): number {
  const { user, system } = process.threadCpuUsage()
  return user + system
}
