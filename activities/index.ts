// The doing side of the workflows; everything they touch is handed in.
import { createFineTuneActivities, type FineTuneDependencies } from './fine-tune.ts'
import { createModelServerActivities, type ModelServerDependencies } from './model-servers.ts'

export const createActivities = (deps: FineTuneDependencies & ModelServerDependencies) => ({
  ...createFineTuneActivities(deps),
  ...createModelServerActivities(deps),
})
