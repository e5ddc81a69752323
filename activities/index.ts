// The doing side of the workflows; everything they touch is handed in.
import { createFineTuneActivities, type FineTuneDependencies } from './fine-tune.ts'
import { createHousekeepingActivities, type HousekeepingDependencies } from './housekeeping.ts'
import { createInferenceBatchActivities, type InferenceBatchDependencies } from './inference-batches.ts'
import { createModelServerActivities, type ModelServerDependencies } from './model-servers.ts'
import { createReaperActivities, type ReaperDependencies } from './reaper.ts'

export const createActivities = (
  deps: FineTuneDependencies &
    ModelServerDependencies &
    InferenceBatchDependencies &
    ReaperDependencies &
    HousekeepingDependencies,
) => ({
  ...createFineTuneActivities(deps),
  ...createInferenceBatchActivities(deps),
  ...createModelServerActivities(deps),
  ...createReaperActivities(deps),
  ...createHousekeepingActivities(deps),
})
