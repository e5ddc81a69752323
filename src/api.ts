// The api process: public HTTP on one port, the pods' on another, the operators' on a third. Never speaks to Temporal or to a cluster.
import { setTimeout as sleep } from 'node:timers/promises'
import { openParts } from './compose/parts.ts'
import { readConfig, type Config } from './config/service.ts'
import { parseApiKey } from './domain/identifiers.ts'
import { createPublicApp } from './http/app.ts'
import { createBodyMemory } from './http/edge/body-memory.ts'
import { createMetrics } from './http/kit/metrics.ts'
import { closeGracefully, listen } from './http/kit/server.ts'
import { tooWide } from './domain/trusted-proxies.ts'
import { createAdminApp } from './internal-http/admin-app.ts'
import { createInternalApp } from './internal-http/app.ts'
import { createLog } from './log.ts'
import { connectRateLimits } from './repositories/rate-limits.ts'
import type { ServiceDependencies } from './services/context.ts'
import { createBatchBeginnings } from './services/batches/beginnings.ts'
import { createJobFeeds } from './services/job-stream/job-feeds.ts'
import { createLimits } from './services/limits/limits.ts'
import { createSignIn } from './services/sign-in.ts'
import { markEmptyBucket } from '../activities/installation-mark.ts'

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
  const { log } = deps
  await bootstrap(deps, config)
  // Not awaited: an api starts without its database, too.
  void checkBucket(deps).catch((error: unknown) => log.warn({ err: error }, 'failed to read the mark of the bucket'))
  const metrics = createMetrics()
  for (const metric of deps.inference.metrics) metrics.registry.registerMetric(metric)
  const bodyMemory = createBodyMemory(config.bodyMemoryBytes)
  const publicApp = createPublicApp({
    deps,
    bodyMemory,
    ...config,
    version: config.release,
    metrics,
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
  await Promise.allSettled([deps.limits.close(), deps.close()])
  process.exit(0)
}

function connect(config: Config) {
  const parts = openParts(config, createLog('api', config.logLevel))
  const limits = createLimits({
    store: connectRateLimits(config.databaseSession),
    settings: config.limits,
    log: parts.log,
  })
  const jobFeeds = createJobFeeds({ ...parts, maxOfAccount: config.maxJobFollowers })
  const signIn = config.signIn && createSignIn(config.signIn, parts)
  return { ...parts, batchBeginnings: createBatchBeginnings(), jobFeeds, limits, signIn, settings: config }
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

/** Only told: the daily sweep, which could destroy data, refuses such a bucket by itself. */
async function checkBucket({ database, storage, log }: Pick<ServiceDependencies, 'database' | 'storage' | 'log'>) {
  const installation = await database.installation.id()
  const ofBucket = await markEmptyBucket(storage, installation)
  if (ofBucket !== null && ofBucket !== installation)
    log.error(
      { installation, ofBucket },
      'the bucket belongs to another installation: check DATABASE_URL and S3_BUCKET',
    )
}
