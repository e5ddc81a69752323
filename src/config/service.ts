// The settings of the api and the worker.
import { readFileSync } from 'node:fs'
import packageJson from '../../package.json' with { type: 'json' }
import { parseCatalogue } from '../domain/catalogue.ts'
import { retentionOf } from '../domain/retention.ts'
import { readDatabaseConfig } from './database.ts'
import { listed, parse } from './environment.ts'
import { readModelFiles, tokenizersOf } from './model-files.ts'
import { ServiceEnvironment } from './service-environment.ts'
import { readSignInConfig } from './sign-in.ts'
import { readStoreAccess } from './store-access.ts'

const hourMs = 3_600_000

export type Config = ReturnType<typeof readConfig>

/** @throws Error naming each wrong variable */
export function readConfig(environment: NodeJS.ProcessEnv = process.env) {
  const env = parse(ServiceEnvironment, environment)
  const catalogue = parseCatalogue(JSON.parse(readFileSync(env.ANNEAL_CATALOGUE, 'utf8')), (entry) =>
    readModelFiles(entry, env),
  )
  return {
    release: packageJson.version,
    ...readDatabaseConfig(environment),
    s3: {
      endpoint: env.S3_ENDPOINT,
      publicEndpoint: env.S3_PUBLIC_ENDPOINT,
      region: env.S3_REGION,
      bucket: env.S3_BUCKET,
      ...readStoreAccess(environment),
      partBytes: env.ANNEAL_UPLOAD_PART_MIB * 1024 * 1024,
    },
    bindHost: env.ANNEAL_BIND_HOST,
    port: env.ANNEAL_PORT,
    internalPort: env.ANNEAL_INTERNAL_PORT,
    adminPort: env.ANNEAL_ADMIN_PORT,
    workerPort: env.ANNEAL_WORKER_PORT,
    internalUrl: env.ANNEAL_INTERNAL_URL,
    secret: env.ANNEAL_SECRET,
    bootstrapApiKey: env.ANNEAL_BOOTSTRAP_API_KEY,
    catalogue,
    tokenizers: tokenizersOf(catalogue, env),
    consoleDir: env.ANNEAL_CONSOLE_DIR,
    serviceName: env.ANNEAL_SERVICE_NAME,
    resumeLimit: env.ANNEAL_RESUME_LIMIT,
    maxGpus: env.ANNEAL_MAX_GPUS,
    // Local runs know one machine.
    maxNodes: env.ANNEAL_COMPUTE === 'local' ? 1 : env.ANNEAL_MAX_NODES,
    limits: {
      requests: { perSecond: env.ANNEAL_REQUESTS_PER_SECOND, burst: env.ANNEAL_REQUEST_BURST },
      concurrentRequests: env.ANNEAL_CONCURRENT_REQUESTS,
      failedAuthenticationsPerMinute: env.ANNEAL_FAILED_AUTHENTICATIONS_PER_MINUTE,
      judgeTokensPerDay: env.ANNEAL_JUDGE_TOKENS_PER_DAY,
    },
    bodyMemoryBytes: env.ANNEAL_BODY_MEMORY_BYTES,
    maxJobFollowers: env.ANNEAL_MAX_JOB_FOLLOWERS,
    prices: env.ANNEAL_PRICES ?? null,
    maxOpenJobs: env.ANNEAL_MAX_OPEN_JOBS,
    maxStoredBytes: env.ANNEAL_MAX_STORED_BYTES,
    maxRowBytes: env.ANNEAL_MAX_ROW_BYTES,
    maxOpenBatches: env.ANNEAL_MAX_OPEN_BATCHES,
    runningBatches: env.ANNEAL_RUNNING_BATCHES,
    maxWaitingBatchItems: env.ANNEAL_MAX_WAITING_BATCH_ITEMS,
    maxOpenEvaluations: env.ANNEAL_MAX_OPEN_EVALUATIONS,
    maxWaitingEvaluationAnswers: env.ANNEAL_MAX_WAITING_EVALUATION_ANSWERS,
    maxRolloutBytes: env.ANNEAL_MAX_ROLLOUT_BYTES,
    maxOpenExports: env.ANNEAL_MAX_OPEN_EXPORTS,
    datasetLimits: { unpackedBytes: env.ANNEAL_MAX_DATASET_BYTES, checkSeconds: env.ANNEAL_DATASET_CHECK_SECONDS },
    maxStoredRows: env.ANNEAL_MAX_STORED_ROWS,
    maxLiveKeys: env.ANNEAL_MAX_LIVE_KEYS,
    madeKeysEndWith: env.ANNEAL_MADE_KEYS_END_WITH,
    personKeyDays: env.ANNEAL_PERSON_KEY_DAYS,
    signIn: readSignInConfig(env),
    trustedProxies: env.ANNEAL_TRUSTED_PROXIES,
    adminHosts: listed(env.ANNEAL_ADMIN_HOSTS),
    corsOrigins: env.ANNEAL_CORS_ORIGINS,
    webhooks: { allowsHttp: env.ANNEAL_WEBHOOKS_ALLOW_HTTP, isCallable: env.ANNEAL_WEBHOOKS_PRIVATE_NETWORKS },
    coldStartTimeoutMs: env.ANNEAL_COLD_START_TIMEOUT_SECONDS * 1000,
    answerTimeoutMs: env.ANNEAL_ANSWER_TIMEOUT_SECONDS * 1000,
    idleTimeoutMs: env.ANNEAL_IDLE_TIMEOUT_SECONDS * 1000,
    warmModels: env.ANNEAL_WARM_MODELS,
    workflowBundle: env.ANNEAL_WORKFLOW_BUNDLE,
    compute: env.ANNEAL_COMPUTE,
    pythonGraders: {
      mode: env.ANNEAL_PYTHON_GRADERS,
      python: env.ANNEAL_GRADER_PYTHON ?? env.ANNEAL_PYTHON ?? 'python3',
      sampleMs: env.ANNEAL_GRADER_SECONDS * 1000,
      podsOfAccount: env.ANNEAL_GRADER_PODS,
    },
    terminationGraceMs: env.ANNEAL_TERMINATION_GRACE_SECONDS * 1000,
    attemptLimits: {
      timeSliceMs: env.ANNEAL_TIME_SLICE_HOURS * hourMs,
      stallMs: env.ANNEAL_STALL_MINUTES * 60_000,
      maxJobMs: env.ANNEAL_MAX_JOB_HOURS === undefined ? null : env.ANNEAL_MAX_JOB_HOURS * hourMs,
    },
    retention: retentionOf({ scale: env.ANNEAL_RETENTION_SCALE, auditDays: env.ANNEAL_AUDIT_DAYS }),
    sweep: { olderThanMs: env.ANNEAL_BACKUP_MAX_AGE_HOURS * hourMs, maxShare: env.ANNEAL_SWEEP_MAX_SHARE },
    temporalWorkflowsUrl:
      env.TEMPORAL_UI_URL === undefined
        ? null
        : `${env.TEMPORAL_UI_URL.replace(/\/+$/, '')}/namespaces/${env.TEMPORAL_NAMESPACE}/workflows`,
    logLevel: env.LOG_LEVEL,
  }
}
