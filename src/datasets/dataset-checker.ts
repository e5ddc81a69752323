// Data sets are checked in threads: a file of a gigabyte takes its core, not the event loop.
import { Worker } from 'node:worker_threads'
import type { DatasetReport } from '../domain/dataset-report.ts'
import type { StorageConfig } from '../storage/storage.ts'
import { DatasetInvalidError } from './dataset-invalid-error.ts'
import type { CheckedData, DataOfJob } from './prepare-data.ts'
import type { TokenizerSource } from './token-sample.ts'

type DatasetTask = ({ kind: 'prepare' } & DataOfJob) | { kind: 'check'; key: string }

export type DatasetWork = { config: StorageConfig; tokenizer: TokenizerSource | null; task: DatasetTask }

export type TaskAnswer =
  | { result: CheckedData | DatasetReport | null }
  | { invalid: { message: string; report: DatasetReport | undefined } }
  | { error: string }

/** Of V8's heap; one row of the largest size takes a fifth of it. */
const heapLimitMegabytes = 1024

export type DatasetChecker = ReturnType<typeof createDatasetChecker>

export function createDatasetChecker(config: StorageConfig, tokenizer: TokenizerSource | null) {
  const work = { config, tokenizer }
  return {
    /** @throws DatasetInvalidError */
    prepare: (data: DataOfJob, signal?: AbortSignal) =>
      inThread({ ...work, task: { kind: 'prepare', ...data } }, signal) as Promise<CheckedData>,
    /** @returns null when there is nothing under this key */
    check: (key: string, signal?: AbortSignal) =>
      inThread({ ...work, task: { kind: 'check', key } }, signal) as Promise<DatasetReport | null>,
  }
}

async function inThread(work: DatasetWork, signal?: AbortSignal) {
  signal?.throwIfAborted()
  const thread = new Worker(new URL('./dataset-thread.ts', import.meta.url), {
    workerData: work,
    resourceLimits: { maxOldGenerationSizeMb: heapLimitMegabytes },
  })
  const stop = () => void thread.terminate()
  signal?.addEventListener('abort', stop)
  try {
    const answer = await new Promise<TaskAnswer>((resolve, reject) => {
      thread.once('message', resolve)
      thread.once('error', reject)
      thread.once('exit', (code) => reject(new Error(`the thread that checks data ended with ${code}`)))
    })
    if ('invalid' in answer) throw new DatasetInvalidError(answer.invalid.message, answer.invalid.report)
    if ('error' in answer) throw new Error(answer.error)
    return answer.result
  } catch (error) {
    signal?.throwIfAborted()
    if (error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY')
      throw new DatasetInvalidError('The data set cannot be used: a row of it needs too much memory.')
    throw error
  } finally {
    signal?.removeEventListener('abort', stop)
    await thread.terminate()
  }
}
