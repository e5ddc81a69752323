// The routes that the programs in pods call: the internal app serves them, and the pods' contract describes them.
import { artifactRoutes } from './routes/artifacts.ts'
import { attemptRoutes } from './routes/attempt.ts'
import { exportRoutes } from './routes/exports.ts'
import { gradeRoutes } from './routes/grade.ts'
import { sampleRoutes } from './routes/sample.ts'
import { serverRoutes } from './routes/server.ts'

export const podRoutes = [
  ...attemptRoutes,
  ...artifactRoutes,
  ...gradeRoutes,
  ...sampleRoutes,
  ...exportRoutes,
  ...serverRoutes,
]
