// The api process: public HTTP on one port, the pods' on another, the operators' on a third. Never speaks to Temporal or to a cluster.
import { setTimeout as sleep } from 'node:timers/promises'
import packageJson from '../package.json' with { type: 'json' }
import { readConfig, type Config } from './config/service.ts'
import { createDatasetValidator } from './datasets/dataset-validator.ts'
import { parseApiKey } from './domain/identifiers.ts'
import { modelServerToken } from './domain/model-server-token.ts'
import { createPublicApp } from './http/app.ts'
import { createBodyMemory } from './http/edge/body-memory.ts'
import { createMetrics } from './http/kit/metrics.ts'
import { closeGracefully, listen } from './http/kit/server.ts'
import { createGrading } from './grading/grading-threads.ts'
import { createInference } from './inference/inference.ts'
import { tooWide } from './domain/trusted-proxies.ts'
import { createAdminApp } from './internal-http/admin-app.ts'
import { createInternalApp } from './internal-http/app.ts'
import { createLog } from './log.ts'
import { connectDatabase } from './repositories/database.ts'
import { connectRateLimits } from './repositories/rate-limits.ts'
import { listenToNotifications } from './repositories/notifications.ts'
import { connectStoredRowSearch, type StoredRowSearch } from './repositories/stored-row-search.ts'
import type { ServiceDependencies } from './services/context.ts'
import { createOwnEmbedding } from './services/batches/infer.ts'
import { createBatchBeginnings } from './services/batches/beginnings.ts'
import { createJobFeeds, type JobFeeds } from './services/job-stream/job-feeds.ts'
import { createLimits } from './services/limits/limits.ts'
import { createHasRows } from './services/stored-data/has-rows.ts'
import { createActivity } from './services/activity.ts'
import { createSearchRows, searchLimits, searchTimeoutMs } from './services/stored-data/search-rows.ts'
import { createEvaluationScores } from './services/training-jobs/score-evaluation.ts'
import { createUsageRecorder, type UsageRecorder } from './services/usage/usage-recorder.ts'
import { createStorage } from './storage/storage.ts'

/** Under the 10 seconds after which a supervisor stops asking politely. */
const closeTimeoutMs = 8000
const bootstrapTimeoutMs = 60_000
const bootstrapAgainMs = 500

await main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(1)
})

async function main() {
  const config = readConfig()
  const deps = connect(config)
  const { database, notifications, limits, usage, rowSearch, log } = deps
  await bootstrap(deps, config)
  const metrics = createMetrics()
  for (const metric of deps.inference.metrics) metrics.registry.registerMetric(metric)
  const bodyMemory = createBodyMemory(config.bodyMemoryBytes)
  const publicApp = createPublicApp({
    deps,
    bodyMemory,
    serviceName: config.serviceName,
    version: packageJson.version,
    metrics,
    trustedProxies: config.trustedProxies,
    corsOrigins: config.corsOrigins,
    consoleDir: config.consoleDir,
  })
  const host = config.bindHost
  const servers = [
    await listen(
      createAdminApp({ deps, metrics, bodyMemory, consoleDir: config.consoleDir, hosts: config.adminHosts }),
      {
        host,
        port: config.adminPort,
      },
    ),
    await listen(createInternalApp({ deps, metrics, bodyMemory }), { host, port: config.internalPort }),
    await listen(publicApp, { host, port: config.port }),
  ]
  const { port, internalPort, adminPort } = config
  log.info({ port, internalPort, adminPort }, 'listening')
  const wide = tooWide(config.trustedProxies)
  if (wide.length > 0)
    log.warn(
      { networks: wide },
      'ANNEAL_TRUSTED_PROXIES is wide: every program in these networks can choose its address',
    )

  await new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, resolve)
  })
  log.info('stopping')
  deps.jobFeeds.close()
  await closeGracefully(servers, closeTimeoutMs)
  await usage.close()
  await Promise.allSettled([limits.close(), notifications.close(), rowSearch.close(), database.close()])
  process.exit(0)
}

function connect(config: Config): ServiceDependencies & {
  usage: UsageRecorder
  rowSearch: StoredRowSearch
  jobFeeds: JobFeeds
} {
  const log = createLog('api', config.logLevel)
  const database = connectDatabase(config.databaseUrl)
  const notifications = listenToNotifications(config.databaseUrl)
  const rateLimits = connectRateLimits(config.databaseUrl)
  const rowSearch = connectStoredRowSearch(config.databaseUrl, {
    connections: searchLimits.total,
    timeoutMs: searchTimeoutMs,
  })
  const storage = createStorage(config.s3)
  const { modelServers, outbox } = database
  const grading = createGrading()
  const activity = createActivity()
  const models = {
    database,
    storage,
    inference: createInference({
      modelServers,
      outbox,
      notifications,
      serverToken: (baseModel, launch) => modelServerToken(config.secret, baseModel, launch),
      coldStartTimeoutMs: config.coldStartTimeoutMs,
      answerTimeoutMs: config.answerTimeoutMs,
      log,
    }),
    hasRows: createHasRows({ database, notifications }),
    searchRows: createSearchRows(rowSearch, activity),
    activity,
    usage: createUsageRecorder({ usage: database.usage, log }),
    catalogue: config.catalogue,
  }
  return {
    ...models,
    notifications,
    datasets: createDatasetValidator(config.s3, config.tokenizer, config.datasetLimits),
    batchBeginnings: createBatchBeginnings(),
    grading,
    evaluationScores: createEvaluationScores({
      grading,
      embed: createOwnEmbedding(models),
      models: database.models,
    }),
    jobFeeds: createJobFeeds({ database, storage, notifications, log, maxOfAccount: config.maxJobFollowers }),
    rowSearch,
    limits: createLimits({ store: rateLimits, settings: config.limits, log }),
    settings: {
      secret: config.secret,
      resumeLimit: config.resumeLimit,
      maxGpus: config.maxGpus,
      maxNodes: config.maxNodes,
      maxOpenJobs: config.maxOpenJobs,
      maxStoredBytes: config.maxStoredBytes,
      maxRowBytes: config.maxRowBytes,
      maxOpenBatches: config.maxOpenBatches,
      maxWaitingBatchItems: config.maxWaitingBatchItems,
      maxOpenEvaluations: config.maxOpenEvaluations,
      maxWaitingEvaluationAnswers: config.maxWaitingEvaluationAnswers,
      maxOpenExports: config.maxOpenExports,
      maxStoredRows: config.maxStoredRows,
      maxLiveKeys: config.maxLiveKeys,
      madeKeysEndWith: config.madeKeysEndWith,
      temporalWorkflowsUrl: config.temporalWorkflowsUrl,
      webhooks: config.webhooks,
    },
    log,
  }
}

/** What must be there before the first request; the stores may still be coming up. Repeats change nothing. */
async function bootstrap({ database, storage, log }: ServiceDependencies, { bootstrapApiKey }: Config) {
  const key = bootstrapApiKey === undefined ? null : parseApiKey(bootstrapApiKey)
  if (key === undefined) throw new Error('ANNEAL_BOOTSTRAP_API_KEY is not of the form ank_<id>_<secret>.')
  const deadline = performance.now() + bootstrapTimeoutMs
  for (;;) {
    try {
      await storage.ensureBucket()
      if (key) await database.accounts.ensureWithApiKey({ name: 'default', keyId: key.id, secretHash: key.secretHash })
      return
    } catch (error) {
      if (performance.now() > deadline)
        throw new Error('The database or the object store does not answer.', { cause: error })
      log.warn({ err: error }, 'the database or the object store does not answer yet')
      await sleep(bootstrapAgainMs)
    }
  }
}
