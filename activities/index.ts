// The doing side of the workflows; everything they touch is handed in.
import { createFineTuneActivities, type FineTuneDependencies } from './fine-tune.ts'
import { createInferenceBatchActivities, type InferenceBatchDependencies } from './inference-batches.ts'
import { createModelServerActivities, type ModelServerDependencies } from './model-servers.ts'

export const createActivities = (
  deps: FineTuneDependencies & ModelServerDependencies & InferenceBatchDependencies,
) => ({
  ...createFineTuneActivities(deps),
  ...createInferenceBatchActivities(deps),
  ...createModelServerActivities(deps),
})
