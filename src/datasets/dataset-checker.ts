// Data sets are checked in threads: a file of a gigabyte takes its core, not the event loop.
import { neededTooMuchMemory } from '../ask-thread.ts'
import type { DatasetReport } from '../domain/dataset-report.ts'
import type { StorageConfig } from '../storage/storage.ts'
import { DatasetInvalidError } from './dataset-invalid-error.ts'
import type { DatasetTask } from './dataset-thread.ts'
import { createDatasetThreads } from './dataset-threads.ts'
import type { CheckedData, DataOfJob } from './prepare-data.ts'
import type { TokenizerSource } from './token-sample.ts'

export type DatasetChecker = ReturnType<typeof createDatasetChecker>

export function createDatasetChecker(config: StorageConfig, tokenizer: TokenizerSource | null) {
  const threads = createDatasetThreads({ config, tokenizer })

  async function inThread(task: DatasetTask, signal?: AbortSignal) {
    try {
      const answer = await threads.run(task, signal)
      if ('invalid' in answer) throw new DatasetInvalidError(answer.invalid.message, answer.invalid.report)
      if ('error' in answer) throw new Error(answer.error)
      return answer.result
    } catch (error) {
      if (neededTooMuchMemory(error))
        throw new DatasetInvalidError('The data set cannot be used: a row of it needs too much memory.')
      throw error
    }
  }

  return {
    /** @throws DatasetInvalidError */
    prepare: (data: DataOfJob, signal?: AbortSignal) =>
      inThread({ kind: 'prepare', ...data }, signal) as Promise<CheckedData>,
    /** @returns null when there is nothing under this key */
    check: (key: string, signal?: AbortSignal) =>
      inThread({ kind: 'check', key }, signal) as Promise<DatasetReport | null>,
  }
}
