// The program behind the Nexus endpoint: workflows of other teams start, await and cancel jobs of the account whose key it
// has. It knows the service by its public API only, and may run anywhere between the two.
import { startWorkflow, WorkflowRunOperationHandler } from '@temporalio/nexus'
import { NativeConnection, Runtime, Worker } from '@temporalio/worker'
import { serviceHandler } from 'nexus-rpc'
import { fileURLToPath } from 'node:url'
import { createNexusActivities } from '../activities/nexus.ts'
import { annealService, nexusTaskQueue } from '../workflows/nexus-service.ts'
import { nexusEvaluate, nexusFineTune } from '../workflows/nexus.ts'
import { readNexusConfig } from './config/nexus.ts'
import { readTemporalConfig } from './config/temporal.ts'
import { createLog } from './log.ts'
import { createTemporalLog } from './temporal/log.ts'

/** Each waits for one job and asks for it every ten seconds at most. */
const maxWatchers = 500

const config = readNexusConfig()
const log = createLog('nexus', config.logLevel)
Runtime.install({ shutdownSignals: [], logger: createTemporalLog(log), telemetryOptions: { logging: { forward: {} } } })
const { namespace, connectionOptions } = readTemporalConfig()
const connection = await NativeConnection.connect(connectionOptions)

// A request that is repeated finds the workflow of the first one. Its cancel is Temporal's own.
const operations = serviceHandler(annealService, {
  fineTune: new WorkflowRunOperationHandler((ctx, order) =>
    startWorkflow(ctx, nexusFineTune, { workflowId: `anneal-nexus-${ctx.requestId}`, args: [order] }),
  ),
  evaluate: new WorkflowRunOperationHandler((ctx, order) =>
    startWorkflow(ctx, nexusEvaluate, { workflowId: `anneal-nexus-${ctx.requestId}`, args: [order] }),
  ),
})

const worker = await Worker.create({
  connection,
  namespace,
  taskQueue: config.taskQueue ?? nexusTaskQueue,
  nexusServices: [operations],
  activities: createNexusActivities({ apiUrl: config.apiUrl, apiKey: config.apiKey }),
  ...(config.workflowBundle === undefined
    ? { workflowsPath: fileURLToPath(new URL('../workflows/index.ts', import.meta.url)) }
    : { workflowBundle: { codePath: config.workflowBundle } }),
  maxConcurrentActivityTaskExecutions: maxWatchers,
  maxCachedWorkflows: 200,
  shutdownGraceTime: '5 seconds',
  // A cancel arrives only with the answer to a heartbeat.
  maxHeartbeatThrottleInterval: '3 seconds',
})
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => worker.shutdown())
log.info({ namespace, taskQueue: worker.options.taskQueue }, 'nexus worker ready')
await worker.run()
await connection.close()
