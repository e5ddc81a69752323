// The activities of a fine-tune. Each may run twice: names come from ids, and status changes are compare-and-set.
import { ApplicationFailure } from '@temporalio/activity'
import type { TrainerCompute } from '../src/compute/trainers.ts'
import type { DatasetValidator } from '../src/datasets/dataset-validator.ts'
import type { AttemptLimits } from '../src/domain/attempt-limits.ts'
import { ServiceError } from '../src/domain/service-error.ts'
import type { Database } from '../src/repositories/database.ts'
import type { Storage } from '../src/storage/storage.ts'
import { createJobActivities } from './jobs.ts'
import { createAttemptActivities } from './attempts.ts'
import { createRowPreparation } from './prepare-rows.ts'
import { createReleaseActivities } from './release.ts'
import { createPublishActivities } from './publish.ts'
import { createWatchActivity } from './watch-attempt.ts'

export type FineTuneDependencies = {
  database: Database
  storage: Storage
  trainers: TrainerCompute
  datasets: Pick<DatasetValidator, 'prepare'>
  /** How long the internal API, the database and the object store have answered. */
  health: { soundForMs(): number }
  settings: {
    /** Signs the tokens of attempts. */
    secret: string
    /** Where pods find the internal API. */
    internalUrl: string
    terminationGraceMs: number
    limits: AttemptLimits
    /** The most bytes that an account may store. */
    maxStoredBytes: number
  }
}

export function createFineTuneActivities(deps: FineTuneDependencies) {
  const prepareRows = createRowPreparation(deps)
  return refusingUnknown({
    ...createJobActivities(deps, prepareRows),
    ...createAttemptActivities(deps, prepareRows),
    ...createWatchActivity(deps),
    ...createReleaseActivities(deps),
    ...createPublishActivities(deps),
  })
}

/** A row that the workflow has seen and Postgres does not know was lost by a restore: a retry would not find it either. */
function refusingUnknown<T extends Record<string, (input: never) => Promise<unknown>>>(activities: T): T {
  const refuse = (error: unknown) => {
    if (error instanceof ServiceError && error.code === 'not_found')
      throw ApplicationFailure.nonRetryable(error.message, 'Unknown')
    throw error
  }
  const refusing = Object.entries(activities).map(([name, act]) => [name, (input: never) => act(input).catch(refuse)])
  return Object.fromEntries(refusing) as T
}

export type FineTuneActivities = ReturnType<typeof createFineTuneActivities>
