// The variables of the api and the worker.
import { z } from 'zod'
import { defaultDatasetLimits } from '../datasets/dataset-limits.ts'
import { callableAddresses } from '../domain/callable-addresses.ts'
import { Prices } from '../domain/prices.ts'
import { isProxy } from '../domain/trusted-proxies.ts'
import { listed } from './environment.ts'

const flag = z.enum(['0', '1']).transform((text) => text === '1')
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

const Proxies = z.string().transform((text, ctx) => {
  const proxies = listed(text)
  if (proxies.every(isProxy)) return proxies
  ctx.addIssue('must be addresses or networks such as 10.30.0.0/28, with commas between')
  return z.NEVER
})

export const ServiceEnvironment = z.object({
  S3_ENDPOINT: z.url(),
  /** Where users reach the store, when that is elsewhere. */
  S3_PUBLIC_ENDPOINT: z.url().optional(),
  S3_REGION: z.string().default('us-east-1'),
  S3_BUCKET: z.string().default('anneal'),
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
  /** Counts the requests of one key over all api processes. */
  ANNEAL_REQUESTS_PER_SECOND: z.coerce.number().int().min(1).default(200),
  ANNEAL_REQUEST_BURST: z.coerce.number().int().min(1).default(400),
  /** Counts the requests of one key that run at once in one api process. */
  ANNEAL_CONCURRENT_REQUESTS: z.coerce.number().int().min(1).default(500),
  /** Streams of jobs that one account may follow at once in one api process. */
  ANNEAL_MAX_JOB_FOLLOWERS: z.coerce.number().int().min(1).default(250),
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
  /** The most bytes of an account in the database. */
  ANNEAL_MAX_ROW_BYTES: z.coerce.number().int().min(1).default(1e10),
  ANNEAL_MAX_OPEN_BATCHES: z.coerce.number().int().min(1).default(1000),
  /** At least the largest batch, which would be refused for ever otherwise. */
  ANNEAL_MAX_WAITING_BATCH_ITEMS: z.coerce.number().int().min(10_000).default(200_000),
  /** So many batches of an account run at once, and the others wait. Each batch may keep two calls of an engine busy. */
  ANNEAL_RUNNING_BATCHES: z.coerce.number().int().min(1).default(8),
  ANNEAL_MAX_OPEN_EVALUATIONS: z.coerce.number().int().min(1).default(100),
  /** Rows times models of open evaluations; at least those of the largest evaluation. */
  ANNEAL_MAX_WAITING_EVALUATION_ANSWERS: z.coerce.number().int().min(16_000).default(100_000),
  /** Tokens of models that judge the answers of an account's reinforcement jobs. */
  ANNEAL_JUDGE_TOKENS_PER_DAY: z.coerce.number().int().min(1).max(1_000_000_000).default(100_000_000),
  /** Bytes of committed rollouts of an account, from which on it may begin no reinforcement job. */
  ANNEAL_MAX_ROLLOUT_BYTES: z.coerce.number().int().min(1).default(100_000_000_000),
  /** Merged exports that have not ended. */
  ANNEAL_MAX_OPEN_EXPORTS: z.coerce.number().int().min(1).default(8),
  /** The most bytes of one data set after decompression. */
  ANNEAL_MAX_DATASET_BYTES: z.coerce.number().int().min(1).default(defaultDatasetLimits.unpackedBytes),
  /** Processor time that the check of one data set may take. */
  ANNEAL_DATASET_CHECK_SECONDS: z.coerce.number().positive().default(defaultDatasetLimits.checkSeconds),
  /** The most rows under one id. */
  ANNEAL_MAX_STORED_ROWS: z.coerce.number().int().min(1).default(500_000),
  /** Keys of one account that are neither revoked nor expired. */
  ANNEAL_MAX_LIVE_KEYS: z.coerce.number().int().min(2).default(100),
  /** The latest end of a key that a key or a session of the console makes. */
  ANNEAL_MADE_KEYS_END_WITH: z.enum(['maker', 'key', 'nothing']).default('maker'),
  /** The identity provider with which people sign in, by its address in OpenID Connect Discovery; without it they have keys. */
  ANNEAL_OIDC_ISSUER: z.url({ protocol: /^https?$/ }).optional(),
  /** Bearer tokens for these are taken, with commas between; those for the client when absent. */
  ANNEAL_OIDC_AUDIENCE: z.string().min(1).optional(),
  /** As the console is known to the provider, and `anneal login --sso`, too, if it has no secret. */
  ANNEAL_OIDC_CLIENT_ID: z.string().min(1).optional(),
  ANNEAL_OIDC_CLIENT_SECRET: z.string().min(1).optional(),
  /** As `anneal login --sso` is known to the provider: a public client. */
  ANNEAL_OIDC_CLI_CLIENT_ID: z.string().min(1).optional(),
  /** The console and `anneal login --sso` ask the provider for these scopes. Some providers name groups only for a scope such as groups. */
  ANNEAL_OIDC_SCOPES: z
    .string()
    .regex(/\bopenid\b/)
    .default('openid profile email'),
  /** The claim with a person's groups; dots lead into nested claims. */
  ANNEAL_OIDC_GROUPS_CLAIM: z.string().min(1).default('groups'),
  /** Groups get roles: group=account:role, with commas between, or the lines of a file. */
  ANNEAL_OIDC_ROLES: z.string().optional(),
  ANNEAL_OIDC_ROLES_FILE: z.string().min(1).optional(),
  /** The longest life of a key that a person makes, and its life if no end is asked for. */
  ANNEAL_PERSON_KEY_DAYS: z.coerce.number().positive().max(3650).default(90),
  /** Addresses or networks of proxies whose X-Forwarded-For is believed, with commas between. */
  ANNEAL_TRUSTED_PROXIES: Proxies.prefault(''),
  /** Names by which /metrics and the page of operators may be asked for, beside addresses and private names. */
  ANNEAL_ADMIN_HOSTS: z.string().default(''),
  /** The built console; without it, /console says that it is missing. */
  ANNEAL_CONSOLE_DIR: z.string().min(1).default('console/dist'),
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
  /** How long the audit trail is kept. Postgres refuses to remove younger events than 90 days. */
  ANNEAL_AUDIT_DAYS: z.coerce.number().int().min(90).max(36_500).default(400),
  /** Multiplies every retention period but that of the audit trail. */
  ANNEAL_RETENTION_SCALE: z.coerce.number().positive().default(1),
  /** What the operator takes for the work, as JSON: docs/settings.md, "Prices". Nothing has a price without it. */
  ANNEAL_PRICES: Prices.optional(),
  /** The Temporal UI, for links that users get; without it there are none. */
  TEMPORAL_UI_URL: z.url().optional(),
  TEMPORAL_NAMESPACE: z.string().min(1).default('default'),
  /** Where attempts and model servers run. */
  ANNEAL_COMPUTE: z.enum(['local', 'kubernetes']).default('local'),
  /** Whether programs of users may score answers, in a sandbox: of bubblewrap, or a pod. */
  ANNEAL_PYTHON_GRADERS: z.enum(['off', 'sandbox']).default('off'),
  /** With local compute: the Python of these programs, with the packages that they may import; that of local runs when absent. */
  ANNEAL_GRADER_PYTHON: z.string().min(1).optional(),
  ANNEAL_PYTHON: z.string().min(1).optional(),
  /** On Kubernetes: pods of these programs of one account. */
  ANNEAL_GRADER_PODS: z.coerce.number().int().min(1).default(2),
  /** How long one program may take for one sample. */
  ANNEAL_GRADER_SECONDS: z.coerce.number().positive().max(120).default(10),
  /** Where relative model paths start. The api and the worker take only a tokenizer and its chat template from there. */
  ANNEAL_MODELS_DIR: z.string().min(1).optional(),
  ANNEAL_MODEL_CACHE: z.string().min(1).optional(),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
})
