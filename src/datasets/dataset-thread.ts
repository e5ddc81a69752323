// The inside of the thread that checks data sets: it reads and writes the object store itself, so no row passes the event loop.
import { parentPort, workerData } from 'node:worker_threads'
import { createStorage } from '../storage/storage.ts'
import { checkDataset } from './check-dataset.ts'
import { DatasetInvalidError } from './dataset-invalid-error.ts'
import type { DatasetWork, TaskAnswer } from './dataset-checker.ts'
import { prepareData } from './prepare-data.ts'

const { config, tokenizer, task } = workerData as DatasetWork
parentPort?.postMessage(await answer())

async function answer(): Promise<TaskAnswer> {
  const storage = createStorage(config)
  try {
    const result =
      task.kind === 'prepare'
        ? await prepareData(storage, task, tokenizer)
        : await checkDataset(storage, task.key, tokenizer)
    return { result }
  } catch (error) {
    if (error instanceof DatasetInvalidError) return { invalid: { message: error.message, report: error.report } }
    return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}
