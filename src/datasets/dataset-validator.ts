// Validates data sets in threads, because a gigabyte of rows would block the event loop.
import type { DatasetReport } from '../domain/dataset-report.ts'
import type { StorageConfig } from '../storage/storage.ts'
import { createThreads, neededTooMuchMemory } from '../worker-thread-pool.ts'
import { DatasetInvalidError } from './dataset-invalid-error.ts'
import type { DatasetSettings, DatasetTask, TaskAnswer } from './dataset-thread.ts'
import type { CheckedData, DataOfJob } from './prepare-data.ts'
import type { TokenizerSource } from './token-sample.ts'

const maxThreads = 4
/** Five times the memory that the largest row takes. */
const heapLimitMegabytes = 1024

export type DatasetValidator = ReturnType<typeof createDatasetValidator>

export function createDatasetValidator(config: StorageConfig, tokenizer: TokenizerSource | null) {
  const workerData: DatasetSettings = { config, tokenizer }
  const module = new URL('./dataset-thread.ts', import.meta.url)
  const threads = createThreads(module, { atMost: maxThreads, heapLimitMegabytes, workerData })

  async function inThread(task: DatasetTask, signal?: AbortSignal) {
    try {
      const answer = (await threads.use((ask) => ask(task), signal)) as TaskAnswer
      if ('invalid' in answer) throw new DatasetInvalidError(answer.invalid.message, answer.invalid.report)
      if ('error' in answer) throw new Error(answer.error)
      return answer.result
    } catch (error) {
      if (neededTooMuchMemory(error))
        throw new DatasetInvalidError(
          'The data set cannot be used: one of its rows needs too much memory. Split the row into smaller ones.',
        )
      throw error
    }
  }

  return {
    /** @throws DatasetInvalidError */
    prepare: (data: DataOfJob, signal?: AbortSignal) =>
      inThread({ kind: 'prepare', ...data }, signal) as Promise<CheckedData>,
    /** @returns null when no object has this key */
    check: (key: string, signal?: AbortSignal) =>
      inThread({ kind: 'check', key }, signal) as Promise<DatasetReport | null>,
  }
}
