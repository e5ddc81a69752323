// Every setting, parsed once. The only place that reads process.env.
import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { resolve } from 'node:path'
import { loadClientConnectConfig } from '@temporalio/envconfig'
import { z } from 'zod'
import { defaultDatasetLimits } from './datasets/dataset-limits.ts'
import { callableAddresses } from './domain/callable-addresses.ts'
import { parseCatalogue, type CatalogueEntry } from './domain/catalogue.ts'
import { retentionOf } from './domain/retention.ts'

const flag = z.enum(['0', '1']).transform((text) => text === '1')
const hourMs = 3_600_000
const mebibyte = 1024 * 1024
const port = z.coerce.number().int().min(0).max(65535)

const CallableAddresses = z.string().transform((text, ctx) => {
  try {
    return callableAddresses(listed(text))
  } catch {
    ctx.addIssue('must be networks such as 10.1.0.0/16, with commas between')
    return z.NEVER
  }
})

const Origins = z.string().transform((text, ctx) => {
  const origins = listed(text)
  if (origins.every((origin) => URL.canParse(origin) && new URL(origin).origin === origin)) return origins
  ctx.addIssue('must be origins such as https://app.example.com, with commas between')
  return z.NEVER
})

const Environment = z.object({
  DATABASE_URL: z.string().min(1),
  S3_ENDPOINT: z.url(),
  /** Where users reach the store, when that is elsewhere. */
  S3_PUBLIC_ENDPOINT: z.url().optional(),
  S3_REGION: z.string().default('us-east-1'),
  S3_BUCKET: z.string().default('anneal'),
  S3_ACCESS_KEY: z.string().min(1),
  S3_SECRET_KEY: z.string().min(1),
  /** Larger checkpoints and models are uploaded and copied in parts of this size. An object has at most 10,000 parts. */
  ANNEAL_UPLOAD_PART_MIB: z.coerce.number().int().min(5).max(4096).default(512),
  ANNEAL_BIND_HOST: z.string().min(1).default('127.0.0.1'),
  ANNEAL_PORT: port.default(8080),
  ANNEAL_INTERNAL_PORT: port.default(8081),
  /** Admin routes and metrics; pods of runs must not reach it. */
  ANNEAL_ADMIN_PORT: port.default(8083),
  /** The worker's own, for its health and metrics; without it there is none. */
  ANNEAL_WORKER_PORT: port.optional(),
  /** Where pods find the internal API. */
  ANNEAL_INTERNAL_URL: z.url(),
  /** Signs the tokens of attempts and model servers; the same for every api and worker. */
  ANNEAL_SECRET: z.string().min(32),
  /** A key to create at start if it is missing; the embedded stack hands out its first one so. */
  ANNEAL_BOOTSTRAP_API_KEY: z.string().optional(),
  ANNEAL_CATALOGUE: z.string().default('models.json'),
  ANNEAL_SERVICE_NAME: z
    .string()
    .regex(/^[a-z0-9-]+$/)
    .default('lamini'),
  ANNEAL_RESUME_LIMIT: z.coerce.number().int().min(0).default(1000),
  ANNEAL_MAX_GPUS: z.coerce.number().int().min(0).default(8),
  ANNEAL_MAX_NODES: z.coerce.number().int().min(1).default(1),
  /** Of one key, over all api processes. */
  ANNEAL_REQUESTS_PER_SECOND: z.coerce.number().int().min(1).default(200),
  ANNEAL_REQUEST_BURST: z.coerce.number().int().min(1).default(400),
  /** Of one key, running at once in one api process. */
  ANNEAL_CONCURRENT_REQUESTS: z.coerce.number().int().min(1).default(500),
  /** Memory for the bodies of one api process's requests; at least twice the largest body. */
  ANNEAL_BODY_MEMORY_BYTES: z.coerce
    .number()
    .int()
    .min(128 * mebibyte)
    .default(512 * mebibyte),
  /** From one address. */
  ANNEAL_FAILED_AUTHENTICATIONS_PER_MINUTE: z.coerce.number().int().min(1).default(60),
  /** Of one account. */
  ANNEAL_MAX_OPEN_JOBS: z.coerce.number().int().min(1).default(1000),
  ANNEAL_MAX_STORED_BYTES: z.coerce.number().int().min(1).default(1e12),
  ANNEAL_MAX_OPEN_BATCHES: z.coerce.number().int().min(1).default(1000),
  /** At least the largest batch, which would be refused for ever otherwise. */
  ANNEAL_MAX_WAITING_BATCH_ITEMS: z.coerce.number().int().min(10_000).default(200_000),
  /** The most bytes of one data set after decompression. */
  ANNEAL_MAX_DATASET_BYTES: z.coerce.number().int().min(1).default(defaultDatasetLimits.unpackedBytes),
  /** Processor time that the check of one data set may take. */
  ANNEAL_DATASET_CHECK_SECONDS: z.coerce.number().positive().default(defaultDatasetLimits.checkSeconds),
  /** The most rows under one id. */
  ANNEAL_MAX_STORED_ROWS: z.coerce.number().int().min(1).default(500_000),
  /** Addresses or networks of proxies whose X-Forwarded-For is believed, with commas between. */
  ANNEAL_TRUSTED_PROXIES: z.string().default(''),
  /** Origins whose pages may call the public API from a browser, with commas between. */
  ANNEAL_CORS_ORIGINS: Origins.prefault(''),
  /** Webhooks may go to addresses without TLS. */
  ANNEAL_WEBHOOKS_ALLOW_HTTP: flag.default(false),
  /** Networks that webhooks may go to though they are private, with commas between. */
  ANNEAL_WEBHOOKS_PRIVATE_NETWORKS: CallableAddresses.prefault(''),
  ANNEAL_COLD_START_TIMEOUT_SECONDS: z.coerce.number().positive().default(80),
  /** Of a request, from one answer of its engine to the next. */
  ANNEAL_ANSWER_TIMEOUT_SECONDS: z.coerce.number().positive().default(600),
  ANNEAL_IDLE_TIMEOUT_SECONDS: z.coerce.number().positive().default(900),
  ANNEAL_WARM_MODELS: flag.default(false),
  /** Made by tools/bundle-workflows.mjs; without it the worker bundles the workflows when it starts. */
  ANNEAL_WORKFLOW_BUNDLE: z.string().min(1).optional(),
  ANNEAL_TERMINATION_GRACE_SECONDS: z.coerce.number().positive().default(30),
  /** How long a job may train while another waits for its place. */
  ANNEAL_TIME_SLICE_HOURS: z.coerce.number().positive().default(4),
  /** How long a training may be silent, at least, before it counts as stalled. Outages of a few seconds, and what programs then pause, are not noticed. */
  ANNEAL_STALL_MINUTES: z.coerce.number().min(0.5).default(15),
  /** How long one job may run; without it, for ever. */
  ANNEAL_MAX_JOB_HOURS: z.coerce.number().positive().optional(),
  /** How old the newest usable backup of the database may be. No younger object is swept. */
  ANNEAL_BACKUP_MAX_AGE_HOURS: z.coerce.number().min(24).default(72),
  /** The share of all objects that one sweep may remove. */
  ANNEAL_SWEEP_MAX_SHARE: z.coerce.number().min(0).max(1).default(0.05),
  /** Multiplies every retention period. */
  ANNEAL_RETENTION_SCALE: z.coerce.number().positive().default(1),
  /** Where attempts and model servers run. */
  ANNEAL_COMPUTE: z.enum(['local', 'kubernetes']).default('local'),
  /** Where relative model paths start. The api and the worker take no more than a tokenizer from there. */
  ANNEAL_MODELS_DIR: z.string().min(1).optional(),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
})

const LocalComputeEnvironment = z.object({
  ANNEAL_HOME: z.string().min(1),
  ANNEAL_PYTHON: z.string().min(1),
  ANNEAL_PYTHONPATH: z.string().min(1),
  ANNEAL_MODELS_DIR: z.string().min(1),
  ANNEAL_SLOTS: z.coerce
    .number()
    .int()
    .min(1)
    .default(Math.max(1, Math.floor(cpus().length / 4))),
})

const DatabaseEnvironment = Environment.pick({ DATABASE_URL: true })

const PriorityClasses = z
  .string()
  .transform((text) => text.split(',').map((name) => name.trim()))
  .pipe(
    z.tuple([z.string().min(1), z.string().min(1), z.string().min(1)], 'must be three names: for low, normal, high'),
  )
  .transform(([low, normal, high]) => ({ low, normal, high }))

/** The cluster itself is found as kubectl finds it: by KUBECONFIG, or the service account of the pod. */
const KubernetesEnvironment = z.object({
  /** Of the runs, not of this worker. */
  ANNEAL_KUBERNETES_NAMESPACE: z.string().min(1).default('anneal-runs'),
  /** A file: what the platform says of the pods of each program. docs/architecture.md has an example. */
  ANNEAL_POD_TEMPLATES: z.string().min(1),
  /** What nodes call their GPUs. */
  ANNEAL_GPU_RESOURCE: z.string().min(1).default('nvidia.com/gpu'),
  /** Kueue's LocalQueue, and its WorkloadPriorityClasses for the priorities low, normal, high, with commas. */
  ANNEAL_KUEUE_QUEUE: z.string().min(1).optional(),
  ANNEAL_KUEUE_PRIORITY_CLASSES: PriorityClasses.optional(),
  /** Of this worker to the API server. */
  ANNEAL_KUBERNETES_QPS: z.coerce.number().positive().default(50),
  ANNEAL_KUBERNETES_BURST: z.coerce.number().int().min(1).default(100),
  /** How long an image may be missing before its attempt fails. */
  ANNEAL_IMAGE_TIMEOUT_SECONDS: z.coerce.number().positive().default(600),
  /**
   * How long beyond its grace period a pod may be silent before its node counts as lost. Kubelets may come back a minute
   * after an API server that was away.
   */
  ANNEAL_NODE_LOST_SECONDS: z.coerce.number().positive().default(120),
  /** Attempts at once, shared fairly between accounts; left out, the cluster decides. */
  ANNEAL_SLOTS: z.coerce.number().int().min(1).optional(),
})

const ClientEnvironment = z.object({
  ANNEAL_URL: z.url().optional(),
  ANNEAL_API_KEY: z.string().min(1).optional(),
  /** The admin port, and the operator's token or a key with the scope admin. */
  ANNEAL_ADMIN_URL: z.url().optional(),
  ANNEAL_ADMIN_TOKEN: z.string().min(1).optional(),
})

/** What a local run inherits: where programs and the hub's cache are, which GPUs it may see. */
const inheritedByRuns = [
  'PATH',
  'HOME',
  'LANG',
  'HF_HOME',
  'HF_TOKEN',
  'HF_HUB_OFFLINE',
  'CUDA_VISIBLE_DEVICES',
  'LD_LIBRARY_PATH',
  'SSL_CERT_FILE',
]

export type Config = ReturnType<typeof readConfig>

/** @throws Error naming each wrong variable */
export function readConfig(environment: NodeJS.ProcessEnv = process.env) {
  const env = parse(Environment, environment)
  const catalogue = parseCatalogue(JSON.parse(readFileSync(env.ANNEAL_CATALOGUE, 'utf8')))
  return {
    databaseUrl: env.DATABASE_URL,
    s3: {
      endpoint: env.S3_ENDPOINT,
      publicEndpoint: env.S3_PUBLIC_ENDPOINT,
      region: env.S3_REGION,
      bucket: env.S3_BUCKET,
      accessKey: env.S3_ACCESS_KEY,
      secretKey: env.S3_SECRET_KEY,
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
    tokenizer: tokenizerOf(catalogue.defaultCompletionModel, env.ANNEAL_MODELS_DIR),
    serviceName: env.ANNEAL_SERVICE_NAME,
    resumeLimit: env.ANNEAL_RESUME_LIMIT,
    maxGpus: env.ANNEAL_MAX_GPUS,
    // Local runs know one machine.
    maxNodes: env.ANNEAL_COMPUTE === 'local' ? 1 : env.ANNEAL_MAX_NODES,
    limits: {
      requests: { perSecond: env.ANNEAL_REQUESTS_PER_SECOND, burst: env.ANNEAL_REQUEST_BURST },
      concurrentRequests: env.ANNEAL_CONCURRENT_REQUESTS,
      failedAuthenticationsPerMinute: env.ANNEAL_FAILED_AUTHENTICATIONS_PER_MINUTE,
    },
    bodyMemoryBytes: env.ANNEAL_BODY_MEMORY_BYTES,
    maxOpenJobs: env.ANNEAL_MAX_OPEN_JOBS,
    maxStoredBytes: env.ANNEAL_MAX_STORED_BYTES,
    maxOpenBatches: env.ANNEAL_MAX_OPEN_BATCHES,
    maxWaitingBatchItems: env.ANNEAL_MAX_WAITING_BATCH_ITEMS,
    datasetLimits: { unpackedBytes: env.ANNEAL_MAX_DATASET_BYTES, checkSeconds: env.ANNEAL_DATASET_CHECK_SECONDS },
    maxStoredRows: env.ANNEAL_MAX_STORED_ROWS,
    trustedProxies: listed(env.ANNEAL_TRUSTED_PROXIES),
    corsOrigins: env.ANNEAL_CORS_ORIGINS,
    webhooks: { allowsHttp: env.ANNEAL_WEBHOOKS_ALLOW_HTTP, isCallable: env.ANNEAL_WEBHOOKS_PRIVATE_NETWORKS },
    coldStartTimeoutMs: env.ANNEAL_COLD_START_TIMEOUT_SECONDS * 1000,
    answerTimeoutMs: env.ANNEAL_ANSWER_TIMEOUT_SECONDS * 1000,
    idleTimeoutMs: env.ANNEAL_IDLE_TIMEOUT_SECONDS * 1000,
    warmModels: env.ANNEAL_WARM_MODELS,
    workflowBundle: env.ANNEAL_WORKFLOW_BUNDLE,
    compute: env.ANNEAL_COMPUTE,
    terminationGraceMs: env.ANNEAL_TERMINATION_GRACE_SECONDS * 1000,
    attemptLimits: {
      timeSliceMs: env.ANNEAL_TIME_SLICE_HOURS * hourMs,
      stallMs: env.ANNEAL_STALL_MINUTES * 60_000,
      maxJobMs: env.ANNEAL_MAX_JOB_HOURS === undefined ? null : env.ANNEAL_MAX_JOB_HOURS * hourMs,
    },
    retention: retentionOf(env.ANNEAL_RETENTION_SCALE),
    sweep: { olderThanMs: env.ANNEAL_BACKUP_MAX_AGE_HOURS * hourMs, maxShare: env.ANNEAL_SWEEP_MAX_SHARE },
    logLevel: env.LOG_LEVEL,
  }
}

/** Settings of runs on this machine; only the worker needs them. */
export function readLocalComputeConfig(environment: NodeJS.ProcessEnv = process.env) {
  const env = parse(LocalComputeEnvironment, environment)
  return {
    home: env.ANNEAL_HOME,
    python: env.ANNEAL_PYTHON,
    pythonPath: env.ANNEAL_PYTHONPATH,
    modelsDir: env.ANNEAL_MODELS_DIR,
    slots: env.ANNEAL_SLOTS,
    env: Object.fromEntries(
      inheritedByRuns.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]])),
    ),
  }
}

/** All that a migration needs. */
export const readDatabaseUrl = (environment: NodeJS.ProcessEnv = process.env): string =>
  parse(DatabaseEnvironment, environment).DATABASE_URL

export type TemporalConfig = ReturnType<typeof readTemporalConfig>

/**
 * From the variables that Temporal's own tools read: TEMPORAL_ADDRESS, _NAMESPACE, _API_KEY, _TLS_CLIENT_CERT_PATH and so
 * on. Only what speaks to Temporal asks for them, since only that has the files that they name.
 * @throws Error that says which of them is wrong
 */
export function readTemporalConfig(environment: NodeJS.ProcessEnv = process.env) {
  const overrideEnvVars = Object.fromEntries(
    Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
  try {
    const { connectionOptions, namespace } = loadClientConnectConfig({ disableFile: true, overrideEnvVars })
    const address = connectionOptions.address ?? '127.0.0.1:7233'
    return { address, namespace: namespace ?? 'default', connectionOptions: { ...connectionOptions, address } }
  } catch (error) {
    throw new Error(`The settings TEMPORAL_... are wrong: ${(error as Error).message}`, { cause: error })
  }
}

/** Settings of runs on a cluster; only the worker needs them. */
export function readKubernetesConfig(environment: NodeJS.ProcessEnv = process.env) {
  const env = parse(KubernetesEnvironment, environment)
  const { ANNEAL_KUEUE_QUEUE: queue, ANNEAL_KUEUE_PRIORITY_CLASSES: priorityClasses } = env
  return {
    namespace: env.ANNEAL_KUBERNETES_NAMESPACE,
    templatesText: readFileSync(env.ANNEAL_POD_TEMPLATES, 'utf8'),
    gpuResource: env.ANNEAL_GPU_RESOURCE,
    queue: queue === undefined ? null : { queue, ...(priorityClasses && { priorityClasses }) },
    slots: env.ANNEAL_SLOTS ?? null,
    callsPerSecond: env.ANNEAL_KUBERNETES_QPS,
    callBurst: env.ANNEAL_KUBERNETES_BURST,
    imageTimeoutMs: env.ANNEAL_IMAGE_TIMEOUT_SECONDS * 1000,
    nodeLostAfterMs: env.ANNEAL_NODE_LOST_SECONDS * 1000,
  }
}

/** Which service the command line talks to, when it is not the one of a data directory. */
export function readClientConfig(environment: NodeJS.ProcessEnv = process.env) {
  const env = parse(ClientEnvironment, environment)
  return {
    url: env.ANNEAL_URL,
    apiKey: env.ANNEAL_API_KEY,
    adminUrl: env.ANNEAL_ADMIN_URL,
    adminToken: env.ANNEAL_ADMIN_TOKEN,
  }
}

function parse<T extends z.ZodType>(schema: T, environment: NodeJS.ProcessEnv): z.infer<T> {
  const parsed = schema.safeParse(environment)
  if (!parsed.success) throw new Error(`The environment is not valid:\n${z.prettifyError(parsed.error)}`)
  return parsed.data
}

function listed(text: string): string[] {
  return text.split(',').flatMap((each) => each.trim() || [])
}

/** Of a base model that lies on this machine. */
function tokenizerOf({ name, source }: CatalogueEntry, modelsDir: string | undefined) {
  if (!('path' in source)) return null
  return { name, folder: resolve(modelsDir ?? '.', source.path) }
}
