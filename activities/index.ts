// All activities; their dependencies are passed in.
import type { FineTuneDependencies } from './fine-tune-dependencies.ts'
import { createFineTuneActivities } from './fine-tune.ts'
import { createRetentionActivities, type RetentionDependencies } from './retention.ts'
import { createInferenceBatchActivities, type InferenceBatchDependencies } from './inference-batches.ts'
import { createModelEvaluationActivities, type ModelEvaluationDependencies } from './model-evaluations.ts'
import { createModelExportActivities, type ModelExportDependencies } from './model-exports.ts'
import { createModelServerActivities, type ModelServerDependencies } from './model-servers.ts'
import { createReaperActivities, type ReaperDependencies } from './reaper.ts'

export const createActivities = (
  deps: FineTuneDependencies &
    ModelServerDependencies &
    InferenceBatchDependencies &
    ModelEvaluationDependencies &
    ModelExportDependencies &
    ReaperDependencies &
    RetentionDependencies,
) => ({
  ...createFineTuneActivities(deps),
  ...createInferenceBatchActivities(deps),
  ...createModelEvaluationActivities(deps),
  ...createModelExportActivities(deps),
  ...createModelServerActivities(deps),
  ...createReaperActivities(deps),
  ...createRetentionActivities(deps),
})
