// The activities of a fine-tune. Each may run twice: names come from ids, and status changes are compare-and-set.
import { ApplicationFailure } from '@temporalio/activity'
import { ServiceError } from '../src/domain/service-error.ts'
import type { FineTuneDependencies } from './fine-tune-dependencies.ts'
import { createJobActivities } from './jobs.ts'
import { createAttemptActivities } from './attempts.ts'
import { createRowPreparation } from './prepare-rows.ts'
import { createReleaseActivities } from './release.ts'
import { createPublishActivities } from './publish.ts'
import { createWatchActivity } from './watch-attempt.ts'

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
