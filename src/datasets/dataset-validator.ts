// Works on data sets in threads, because a gigabyte of rows would block the event loop.
import type { DatasetReport, RowPreview } from '../domain/dataset-report.ts'
import type { DataFile } from '../domain/training-job.ts'
import type { PreparedRows } from '../domain/row-tokens.ts'
import type { StorageConfig } from '../storage/storage.ts'
import { createThreads, neededTooMuchMemory } from '../worker-thread-pool.ts'
import { DatasetInvalidError } from './dataset-invalid-error.ts'
import { defaultDatasetLimits, type DatasetLimits } from './dataset-limits.ts'
import type { DatasetSettings, DatasetTask, PreviewTask, TaskAnswer } from './dataset-thread.ts'
import type { JoinedParts, PartsToJoin } from './join-parts.ts'
import type { Mapping } from './map-columns.ts'
import type { LinesWanted } from './prepared-lines.ts'
import type { CheckedData, DataOfJob } from './prepare-data.ts'
import type { PageWanted, RolloutPage } from './rollout-page.ts'
import type { CheckWanted } from './validate-dataset.ts'
import type { Sample, SampledRows } from './sample-rows.ts'
import type { Tokenizers } from './token-sample.ts'

const maxThreads = 4
/** Checks of one account at once: the others find a free thread at any time. */
const maxThreadsOfAccount = 2
/** Five times the memory that the largest row takes. */
const heapLimitMegabytes = 1024

/** The store failed, not the check. */
class DatasetUnreadableError extends Error {
  override name = 'DatasetUnreadableError'
}

export type DatasetValidator = ReturnType<typeof createDatasetValidator>

export function createDatasetValidator(
  config: StorageConfig,
  tokenizers: Tokenizers,
  limits: DatasetLimits = defaultDatasetLimits,
) {
  const workerData: DatasetSettings = { config, tokenizers, limits }
  const module = new URL('./dataset-thread.ts', import.meta.url)
  const sizes = { atMost: maxThreads, atMostOfAccount: maxThreadsOfAccount, heapLimitMegabytes }
  const threads = createThreads(module, { ...sizes, workerData })

  async function inThread(accountId: string, task: DatasetTask, signal?: AbortSignal) {
    try {
      const answer = (await threads.use((ask) => ask(task), signal, accountId)) as TaskAnswer
      if ('invalid' in answer) throw new DatasetInvalidError(answer.invalid.message, answer.invalid.report)
      if ('error' in answer) throw answer.isBug ? new Error(answer.error) : new DatasetUnreadableError(answer.error)
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
    prepare: ({ accountId, ...data }: DataOfJob & { accountId: string }, signal?: AbortSignal) =>
      inThread(accountId, { kind: 'prepare', ...data }, signal) as Promise<CheckedData>,
    /** Chooses the rows of an evaluation. @throws DatasetInvalidError */
    sample: ({ accountId, ...sample }: Sample & { accountId: string }, signal?: AbortSignal) =>
      inThread(accountId, { kind: 'sample', ...sample }, signal) as Promise<SampledRows>,
    /** Writes the rows with other names of their columns. @throws DatasetInvalidError */
    map: ({ accountId, ...mapping }: Mapping & { accountId: string }, signal: AbortSignal) =>
      inThread(accountId, { kind: 'map', ...mapping }, signal) as Promise<DataFile>,
    join: ({ accountId, ...parts }: PartsToJoin & { accountId: string }, signal: AbortSignal) =>
      inThread(accountId, { kind: 'join', ...parts }, signal) as Promise<JoinedParts>,
    /**
     * @param check `model`: the base model whose tokens are counted; `method`: null for the one that takes the first rows
     * @returns null when no object has this key
     */
    check: ({ accountId, ...check }: CheckWanted & { accountId: string }, signal?: AbortSignal) =>
      inThread(accountId, { kind: 'check', ...check }, signal) as Promise<DatasetReport | null>,
    /** @returns null when no object has this key */
    preview: ({ accountId, ...task }: Omit<PreviewTask, 'kind'> & { accountId: string }, signal: AbortSignal) =>
      inThread(accountId, { kind: 'preview', ...task }, signal) as Promise<RowPreview | null>,
    /** Rows as the lines that a trainer would get. @returns null when no object has this key */
    lines: ({ accountId, ...wanted }: LinesWanted & { accountId: string }, signal: AbortSignal) =>
      inThread(accountId, { kind: 'lines', ...wanted }, signal) as Promise<PreparedRows | null>,
    /** Answers that a job has sampled. @returns null when no object has the key. @throws DatasetInvalidError */
    rollouts: ({ accountId, ...wanted }: PageWanted & { accountId: string }, signal: AbortSignal) =>
      inThread(accountId, { kind: 'rollouts', ...wanted }, signal) as Promise<RolloutPage | null>,
  }
}
