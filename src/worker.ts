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
import { openParts } from './compose/parts.ts'
import { readKubernetesConfig } from './config/kubernetes.ts'
import { readLocalComputeConfig } from './config/local-compute.ts'
import { readConfig, type Config } from './config/service.ts'
import { readTemporalConfig, type TemporalConfig } from './config/temporal.ts'
import { gradersOf } from './domain/eval-criteria.ts'
import { graderPodToken } from './domain/python-grader.ts'
import { createLineAnswers } from './http/openai/batch-lines.ts'
import { createLog } from './log.ts'
import { watchApiHealth } from './services/health/watch-api.ts'
import { removeOldPolicies } from './services/attempt-api/policies.ts'
import { createBatchInference } from './services/batches/infer.ts'
import { createDeliver } from './temporal/deliver-message.ts'
import { graderPods } from './loops/grader-pods.ts'
import { keepHousekeeping } from './loops/housekeeping.ts'
import { outboxRelay } from './loops/outbox-relay.ts'
import { resignalWorkflows } from './loops/resignal-workflows.ts'
import { rowEmbedder } from './loops/row-embedder.ts'
import { runLoop, type Loop } from './loops/run-loop.ts'
import { slotScheduler } from './loops/slot-scheduler.ts'
import { waitTeller } from './loops/wait-teller.ts'
import { trackerSender } from './loops/tracker-sender.ts'
import { webhookSender } from './loops/webhook-sender.ts'
import { workerReport } from './loops/worker-report.ts'
import { workScheduler } from './loops/work-scheduler.ts'
import { ensureHousekeeping } from './temporal/housekeeping.ts'
import { wakeModelServer } from './services/models/wake-server.ts'
import { removeParts } from './services/uploads/remove-parts.ts'
import { createCall } from './services/webhooks/call.ts'
import { createExchange } from './services/webhooks/exchange.ts'
import { createWorkflowExecutions } from './temporal/workflow-executions.ts'
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
const parts = openParts(config, log)
const { database, notifications, inference, storage, evaluationScores, embed } = parts
const { trainers, modelServers, ofPods } = await openCompute()
const temporal = await connectTemporal(readTemporalConfig())
health?.add(inference.metrics)
const executions = createWorkflowExecutions(temporal.client)

const activities = createActivities({
  ...parts,
  trainers,
  modelServers,
  health: watchApiHealth(config.internalUrl),
  executions,
  countReaped,
  countRefusedSweep,
  infer: { ...createBatchInference(parts), answerLine: createLineAnswers(parts, log) },
  gradersOf,
  removePolicies: () => removeOldPolicies(parts),
  removeParts: (uploads) => removeParts({ database, storage }, uploads),
  settings: config,
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
  ...ofPods,
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
  waitTeller({ database, notifications, executions, slots: () => trainers.capacity().slots }),
  workerReport({ database, workers, slots: () => trainers.capacity().slots, reaped: reapedCounts }),
  resignalWorkflows(executions),
  webhookSender({ database, notifications, call: createCall(config.webhooks), secret: config.secret, log, signal }),
  trackerSender({
    database,
    evaluationScores,
    exchange: createExchange(config.webhooks),
    secret: config.secret,
    log,
    signal,
  }),
  rowEmbedder({ database, notifications, embed }),
  keepHousekeeping((aborted) => temporal.client.withAbortSignal(aborted, () => ensureHousekeeping(temporal.client))),
]
const running = loops.map((loop) => runLoop(loop, { log, signal }))
if (config.warmModels) await warmModels()

stopping.signal.addEventListener('abort', () => workers.forEach((worker) => worker.shutdown()))
if (stopping.signal.aborted) workers.forEach((worker) => worker.shutdown())
log.info('worker ready')
health?.watch(workers)
await Promise.all([...workers.map((worker) => worker.run()), ...running])
trainers.close()
modelServers.close()
await temporal.close()
await parts.close()
health?.close()

function workflowSource({ workflowBundle }: Config) {
  if (workflowBundle !== undefined) return { workflowBundle: { codePath: workflowBundle } }
  return { workflowsPath: fileURLToPath(new URL('../workflows/index.ts', import.meta.url)) }
}

async function openCompute(): Promise<{ trainers: TrainerCompute; modelServers: ModelServerCompute; ofPods: Loop[] }> {
  if (config.compute === 'local') {
    const { slots, ...config } = readLocalComputeConfig()
    const prepared = createPrepared(config)
    const options = { ...config, prepared }
    return {
      trainers: createLocalTrainers({ ...options, slots }),
      modelServers: createLocalModelServers(options),
      ofPods: [],
    }
  }
  // Imported here because client-node takes half a second to load.
  const kubernetes = await import('./compute/kubernetes/open-cluster.ts')
  const { queue, slots, graderPods: ofAll, ...options } = readKubernetesConfig()
  const cluster = kubernetes.openCluster(options)
  const pods = kubernetes.createKubernetesGraderPods(cluster)
  const tokenOf = (name: string) => graderPodToken(config.secret, name)
  const bounds = { ...ofAll, ofAccount: config.pythonGraders.podsOfAccount }
  return {
    // Also where graders are off: pods may be left from before.
    ofPods: [graderPods({ database, notifications, pods, tokenOf, bounds, log })],
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
