// The public app: everything that users and their clients call.
import type { Express } from 'express'
import type { ServiceDependencies } from '../services/context.ts'
import { mountConsole } from './console-page.ts'
import { mountDocs } from './docs-page.ts'
import type { BodyMemory } from './framework/body-memory.ts'
import { createHttpApp } from './framework/create-app.ts'
import { createKeyCaller } from './framework/key-caller.ts'
import type { Metrics } from './framework/metrics.ts'
import { openAiErrorFormat } from './openai/errors.ts'
import { openAiAliases, openAiHint, openAiRoutes, withEncodedModel } from './openai/routes.ts'
import { auditRoutes } from './routes/audit.ts'
import { batchRoutes } from './routes/batches.ts'
import { completionRoutes } from './routes/completions.ts'
import { consoleRoutes } from './routes/console.ts'
import { dataRoutes } from './routes/data.ts'
import { dataSetRoutes } from './routes/data-sets.ts'
import { embeddingRoutes } from './routes/embeddings.ts'
import { keyRoutes } from './routes/keys.ts'
import { limitRoutes } from './routes/limits.ts'
import { modelExportRoutes } from './routes/model-exports.ts'
import { modelNameRoutes } from './routes/model-names.ts'
import { evaluationRoutes } from './routes/evaluations.ts'
import { modelRoutes } from './routes/models.ts'
import { reservationRoutes } from './routes/reservation.ts'
import { jobStreamRoutes } from './routes/job-stream.ts'
import { healthRoutes, selfDescription } from './routes/service.ts'
import { storedDataRoutes } from './routes/stored-data.ts'
import { trainRoutes } from './routes/train.ts'
import { trainingJobRecordRoutes } from './routes/training-job-records.ts'
import { trainingJobRoutes } from './routes/training-jobs.ts'
import { usageRoutes } from './routes/usage.ts'
import { webhookRoutes } from './routes/webhooks.ts'

type PublicAppOptions = {
  deps: ServiceDependencies
  serviceName: string
  version: string
  metrics: Metrics
  bodyMemory: BodyMemory
  trustedProxies?: readonly string[]
  corsOrigins?: readonly string[]
  /** The folder of the built console. */
  consoleDir?: string
}

/** All but the two that describe them. */
export const publicRoutes = [
  ...completionRoutes,
  ...batchRoutes,
  ...reservationRoutes,
  ...embeddingRoutes,
  ...dataRoutes,
  ...dataSetRoutes,
  ...storedDataRoutes,
  ...trainRoutes,
  ...trainingJobRoutes,
  ...trainingJobRecordRoutes,
  ...jobStreamRoutes,
  ...evaluationRoutes,
  ...modelRoutes,
  ...modelExportRoutes,
  ...modelNameRoutes,
  ...openAiRoutes,
  ...usageRoutes,
  ...limitRoutes,
  ...keyRoutes,
  ...webhookRoutes,
  ...auditRoutes,
  ...consoleRoutes,
  ...healthRoutes,
]

export const errorFormats = [openAiErrorFormat]

export function createPublicApp({
  deps,
  serviceName,
  version,
  metrics,
  consoleDir,
  ...network
}: PublicAppOptions): Express {
  return createHttpApp({
    edge: 'public',
    routes: [...publicRoutes, ...selfDescription(publicRoutes, { version, serviceName, errorFormats })],
    authenticators: {
      none: ({ origin }) => ({ deps, origin }),
      key: createKeyCaller(deps, { allowsSessions: true }),
    },
    serviceName,
    mountPages(app) {
      mountDocs(app)
      mountConsole(app, consoleDir)
    },
    ...network,
    rewriteUrl: withEncodedModel,
    pathAliases: { ...openAiAliases, [`/v1/${serviceName}/train`]: '/v1/train', '/v1/svc/train': '/v1/train' },
    hintFor: openAiHint,
    errorFormats,
    log: deps.log,
    metrics,
  })
}
