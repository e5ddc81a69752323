// The worker process: runs the workflows, their activities and the background loops.
import { Client, Connection } from '@temporalio/client'
import { NativeConnection, Runtime, Worker, type WorkerOptions } from '@temporalio/worker'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createActivities } from '../activities/index.ts'
import { exportTaskQueue, inferenceTaskQueue, taskQueue, watchTaskQueue } from '../workflows/contract.ts'
import { createPrepared } from './compute/local/prepared.ts'
import { createLocalModelServers, createLocalTrainers } from './compute/local/local-compute.ts'
import type { ModelServerCompute } from './compute/model-servers.ts'
import type { TrainerCompute } from './compute/trainers.ts'
import { readKubernetesConfig } from './config/kubernetes.ts'
import { readLocalComputeConfig } from './config/local-compute.ts'
import { readConfig, type Config } from './config/service.ts'
import { readTemporalConfig, type TemporalConfig } from './config/temporal.ts'
import { createDatasetValidator } from './datasets/dataset-validator.ts'
import { modelServerToken } from './domain/model-server-token.ts'
import { createGrading } from './grading/grading-threads.ts'
import { createLineAnswers } from './http/openai/batch-lines.ts'
import { createInference } from './inference/inference.ts'
import { createLog } from './log.ts'
import { connectDatabase } from './repositories/database.ts'
import { connectStoredRowSearch } from './repositories/stored-row-search.ts'
import { listenToNotifications } from './repositories/notifications.ts'
import { createActivity } from './services/activity.ts'
import { watchApiHealth } from './services/health/watch-api.ts'
import { createBatchInference, createOwnEmbedding } from './services/batches/infer.ts'
import { createDeliver } from './temporal/deliver-message.ts'
import { keepHousekeeping } from './loops/housekeeping.ts'
import { outboxRelay } from './loops/outbox-relay.ts'
import { resignalWorkflows } from './loops/resignal-workflows.ts'
import { rowEmbedder } from './loops/row-embedder.ts'
import { runLoop, type Loop } from './loops/run-loop.ts'
import { slotScheduler } from './loops/slot-scheduler.ts'
import { trackerSender } from './loops/tracker-sender.ts'
import { webhookSender } from './loops/webhook-sender.ts'
import { workerReport } from './loops/worker-report.ts'
import { workScheduler } from './loops/work-scheduler.ts'
import { ensureHousekeeping } from './temporal/housekeeping.ts'
import { wakeModelServer } from './services/models/wake-server.ts'
import { createHasRows } from './services/stored-data/has-rows.ts'
import { createSearchRows, searchLimits, searchTimeoutMs } from './services/stored-data/search-rows.ts'
import { removeParts } from './services/uploads/remove-parts.ts'
import { createUsageRecorder } from './services/usage/usage-recorder.ts'
import { createEvaluationScores } from './services/training-jobs/score-evaluation.ts'
import { createCall } from './services/webhooks/call.ts'
import { createExchange } from './services/webhooks/exchange.ts'
import { createWorkflowExecutions } from './temporal/workflow-executions.ts'
import { createStorage } from './storage/storage.ts'
import { createTemporalLog } from './temporal/log.ts'
import { countReaped, countRefusedSweep, reapedCounts, serveWorkerHealth } from './worker-health.ts'

const config = readConfig()
const log = createLog('worker', config.logLevel)
const stopping = new AbortController()
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopping.abort())
// Our own signal handlers stop the loops and the workers together.
Runtime.install({ shutdownSignals: [], logger: createTemporalLog(log), telemetryOptions: { logging: { forward: {} } } })

const { bindHost, workerPort, adminHosts } = config
const health = workerPort === undefined ? null : await serveWorkerHealth(bindHost, workerPort, adminHosts)
const database = connectDatabase(config.databaseUrl)
const notifications = listenToNotifications(config.databaseUrl)
const { trainers, modelServers } = await openCompute()
const temporal = await connectTemporal(readTemporalConfig())

const inference = createInference({
  modelServers: database.modelServers,
  outbox: database.outbox,
  notifications,
  serverToken: (baseModel, launch) => modelServerToken(config.secret, baseModel, launch),
  coldStartTimeoutMs: config.coldStartTimeoutMs,
  answerTimeoutMs: config.answerTimeoutMs,
  log,
})
const { catalogue } = config
const usage = createUsageRecorder({ usage: database.usage, log })
health?.add(inference.metrics)
const storage = createStorage(config.s3)
const hasRows = createHasRows({ database, notifications })
const rowSearch = connectStoredRowSearch(config.databaseUrl, {
  connections: searchLimits.total,
  timeoutMs: searchTimeoutMs,
})
const activity = createActivity()
const searchRows = createSearchRows(rowSearch, activity)
const models = { database, storage, inference, hasRows, searchRows, activity, catalogue, usage }
const infer = { ...createBatchInference(models), answerLine: createLineAnswers(models, log) }
const embed = createOwnEmbedding(models)

const grading = createGrading()
const executions = createWorkflowExecutions(temporal.client)

const activities = createActivities({
  database,
  notifications,
  storage,
  trainers,
  modelServers,
  datasets: createDatasetValidator(config.s3, config.tokenizer, config.datasetLimits),
  health: watchApiHealth(config.internalUrl),
  executions,
  log,
  countReaped,
  countRefusedSweep,
  catalogue,
  infer,
  grading,
  removeParts: (parts) => removeParts({ database, storage }, parts),
  settings: {
    secret: config.secret,
    internalUrl: config.internalUrl,
    terminationGraceMs: config.terminationGraceMs,
    limits: config.attemptLimits,
    maxStoredBytes: config.maxStoredBytes,
    retention: config.retention,
    sweep: config.sweep,
  },
})
const options: WorkerOptions = {
  connection: temporal.native,
  namespace: temporal.namespace,
  activities,
  taskQueue,
  shutdownGraceTime: '5 seconds',
  // The default is four fifths of the timeout, and a cancel arrives only with the answer to a heartbeat.
  maxHeartbeatThrottleInterval: '3 seconds',
}
const workers = await Promise.all([
  // Thousands of workflows may wait, at 0.2 MB each. A workflow outside the cache is replayed within milliseconds.
  Worker.create({ ...options, ...workflowSource(config), maxCachedWorkflows: 200 }),
  // Watchers last as long as their runs; thousands of them cost a timer each.
  Worker.create({ ...options, taskQueue: watchTaskQueue, maxConcurrentActivityTaskExecutions: 5000 }),
  Worker.create({ ...options, taskQueue: inferenceTaskQueue, maxConcurrentActivityTaskExecutions: 16 }),
  Worker.create({ ...options, taskQueue: exportTaskQueue, maxConcurrentActivityTaskExecutions: 2 }),
])
const { signal } = stopping
const loops: Loop[] = [
  outboxRelay({
    database,
    notifications,
    deliver: createDeliver({
      client: temporal.client,
      database,
      modelServerInput: (baseModel) => ({ baseModel, idleTimeoutMs: config.idleTimeoutMs }),
    }),
    log,
  }),
  workScheduler({ database, notifications, places: config.runningBatches }),
  slotScheduler({ database, notifications, slots: () => trainers.capacity().slots }),
  workerReport({ database, workers, slots: () => trainers.capacity().slots, reaped: reapedCounts }),
  resignalWorkflows(executions),
  webhookSender({ database, notifications, call: createCall(config.webhooks), secret: config.secret, log, signal }),
  trackerSender({
    database,
    evaluationScores: createEvaluationScores({ grading, embed, models: database.models }),
    exchange: createExchange(config.webhooks),
    secret: config.secret,
    log,
    signal,
  }),
  rowEmbedder({
    database,
    notifications,
    embed,
  }),
  keepHousekeeping((aborted) => temporal.client.withAbortSignal(aborted, () => ensureHousekeeping(temporal.client))),
]
const running = loops.map((loop) => runLoop(loop, { log, signal }))
if (config.warmModels) await warmModels()

stopping.signal.addEventListener('abort', () => workers.forEach((worker) => worker.shutdown()))
if (stopping.signal.aborted) workers.forEach((worker) => worker.shutdown())
log.info('worker ready')
health?.watch(workers)
await Promise.all([...workers.map((worker) => worker.run()), ...running])
await notifications.close()
trainers.close()
modelServers.close()
await temporal.close()
await usage.close()
await rowSearch.close()
await database.close()
health?.close()

function workflowSource({ workflowBundle }: Config) {
  if (workflowBundle !== undefined) return { workflowBundle: { codePath: workflowBundle } }
  return { workflowsPath: fileURLToPath(new URL('../workflows/index.ts', import.meta.url)) }
}

async function openCompute(): Promise<{ trainers: TrainerCompute; modelServers: ModelServerCompute }> {
  if (config.compute === 'local') {
    const { slots, ...config } = readLocalComputeConfig()
    const prepared = createPrepared(config)
    const options = { ...config, prepared }
    return {
      trainers: createLocalTrainers({ ...options, slots }),
      modelServers: createLocalModelServers(options),
    }
  }
  // Imported here because client-node takes half a second to load.
  const kubernetes = await import('./compute/kubernetes/open-cluster.ts')
  const { queue, slots, ...options } = readKubernetesConfig()
  const cluster = kubernetes.openCluster(options)
  return {
    trainers: kubernetes.createKubernetesTrainers(cluster, { queue, slots }),
    modelServers: kubernetes.createKubernetesModelServers(cluster),
  }
}

/** Waits for Temporal, which may start after the worker. */
async function connectTemporal({ address, namespace, connectionOptions }: TemporalConfig) {
  for (;;) {
    try {
      const connection = await Connection.connect(connectionOptions)
      const native = await NativeConnection.connect(connectionOptions)
      const client = new Client({ connection, namespace })
      return { native, client, namespace, close: () => Promise.all([native.close(), connection.close()]) }
    } catch (error) {
      if (stopping.signal.aborted) process.exit(0)
      log.info({ address, error: String(error) }, 'waiting for Temporal')
      await sleep(300)
    }
  }
}

async function warmModels() {
  for (const { name } of [config.catalogue.defaultCompletionModel, config.catalogue.defaultEmbeddingModel])
    await wakeModelServer({ database, baseModel: name })
}
