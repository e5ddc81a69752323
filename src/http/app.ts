// The public app: everything that users and their clients call.
import type { Express } from 'express'
import type { ServiceDependencies } from '../services/context.ts'
import { mountConsole } from './anneal/console-page.ts'
import { mountDocs } from './anneal/docs-page.ts'
import type { BodyMemory } from './edge/body-memory.ts'
import { createHttpApp } from './edge/create-app.ts'
import { createKeyCaller } from './edge/key-caller.ts'
import type { Metrics } from './kit/metrics.ts'
import { ignoringUnknownQueries, inChapter } from './kit/route.ts'
import { openAiErrorFormat } from './openai/errors.ts'
import { openAiAliases, openAiHint, openAiRoutes, withEncodedModel } from './openai/routes.ts'
import { auditRoutes } from './anneal/audit.ts'
import { batchListRoutes } from './anneal/batches.ts'
import { batchRoutes } from './lamini/batches.ts'
import { completionRoutes } from './lamini/completions.ts'
import { consoleRoutes } from './anneal/console.ts'
import { dataRoutes } from './lamini/data.ts'
import { dataSetRoutes } from './anneal/data-sets.ts'
import { embeddingRoutes } from './lamini/embeddings.ts'
import { keyRoutes } from './anneal/keys.ts'
import { limitRoutes } from './anneal/limits.ts'
import { mountSignIn } from './anneal/sign-in-pages.ts'
import { rolloutRoutes } from './anneal/rollouts.ts'
import { trainingMethodRoutes } from './anneal/training-methods.ts'
import { modelExportRoutes } from './anneal/model-exports.ts'
import { movingRoutes } from './anneal/moving.ts'
import { modelNameRoutes } from './anneal/model-names.ts'
import { evaluationRoutes } from './anneal/evaluations.ts'
import { modelRoutes } from './anneal/models.ts'
import { reservationRoutes } from './lamini/reservation.ts'
import { jobBriefRoutes } from './anneal/job-briefs.ts'
import { jobStreamRoutes } from './anneal/job-stream.ts'
import { healthRoutes, selfDescription } from './anneal/service.ts'
import { storedDataRoutes } from './lamini/stored-data.ts'
import { trainRoutes } from './lamini/train.ts'
import { trainingJobRecordRoutes } from './anneal/training-job-records.ts'
import { trainingJobRoutes } from './lamini/training-jobs.ts'
import { usageRoutes } from './anneal/usage.ts'
import { webhookRoutes } from './anneal/webhooks.ts'

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

/** Clients that we cannot update call these. */
const ofOldPlatform = ignoringUnknownQueries

/** All but the two that describe them. */
export const publicRoutes = [
  ...inChapter('Completions', [
    ...ofOldPlatform([...completionRoutes, ...batchRoutes]),
    ...batchListRoutes,
    ...ofOldPlatform(reservationRoutes),
  ]),
  ...inChapter('Embeddings', ofOldPlatform(embeddingRoutes)),
  ...inChapter('Data', [...ofOldPlatform(dataRoutes), ...dataSetRoutes, ...ofOldPlatform(storedDataRoutes)]),
  ...inChapter('Training', [
    ...ofOldPlatform(trainRoutes),
    ...trainingMethodRoutes,
    // Before the routes of one job: Express would take "briefs" for an id.
    ...jobBriefRoutes,
    ...ofOldPlatform(trainingJobRoutes),
    ...trainingJobRecordRoutes,
    ...rolloutRoutes,
    ...jobStreamRoutes,
  ]),
  ...inChapter('Evaluations', evaluationRoutes),
  ...inChapter('Models', [...modelRoutes, ...modelExportRoutes, ...modelNameRoutes]),
  ...inChapter('OpenAI', openAiRoutes),
  ...inChapter('Service', [...usageRoutes, ...limitRoutes, ...keyRoutes]),
  ...inChapter('Webhooks', webhookRoutes),
  ...inChapter('Service', [...auditRoutes, ...movingRoutes]),
  ...inChapter('Console', consoleRoutes),
  ...inChapter('Service', healthRoutes),
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
      mountSignIn(app, deps)
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
