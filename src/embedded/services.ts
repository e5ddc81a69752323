// The environment of our own two processes, the api and the worker.
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { readRecord, root, runtimeDir, toolPath } from '../../tools/paths.mjs'
import type { Home } from './data-directory.ts'
import type { Ports } from './ports.ts'
import type { Secrets } from './secrets.ts'

export const bucket = 'anneal'
const region = 'us-east-1'

export type Addresses = {
  apiUrl: string
  internalUrl: string
  adminUrl: string
  temporalAddress: string
  temporalUiUrl: string
  databaseUrl: string
  s3Endpoint: string
}

export const entryPoints = { api: join(root, 'src/api.ts'), worker: join(root, 'src/worker.ts') }

export const serviceDefaults = {
  ANNEAL_CATALOGUE: join(root, 'models.json'),
  ANNEAL_MODELS_DIR: root,
  ANNEAL_LLAMA_CPP: join(root, 'node_modules/@node-llama-cpp/linux-x64/bins/linux-x64'),
  ANNEAL_CONSOLE_DIR: join(root, 'console/dist'),
  ANNEAL_COMPUTE: 'local',
  ANNEAL_WARM_MODELS: '1',
  // glibc gives each thread an arena, up to eight a core, and keeps what is free in them: 57 MB more after 190 jobs.
  MALLOC_ARENA_MAX: '2',
  // glibc's initial value. Left unset, the threshold grows with freed memory up to 64 MiB, and so does the memory kept.
  MALLOC_TRIM_THRESHOLD_: '131072',
  // V8 takes 64 MiB on a large machine and fills them before it collects: a heap of 190 MB instead of 92, for as many requests a second.
  NODE_OPTIONS: '--max-semi-space-size=16',
  // A batch of a few prompts keeps one core busy. More of them at once would only slow down single prompts.
  ANNEAL_RUNNING_BATCHES: String(Math.min(8, availableParallelism())),
  // One person's machine: four times what a shared service grants.
  ANNEAL_REQUESTS_PER_SECOND: '800',
  ANNEAL_REQUEST_BURST: '1600',
  ANNEAL_CONCURRENT_REQUESTS: '2000',
  ANNEAL_MAX_JOB_FOLLOWERS: '1000',
  ANNEAL_FAILED_AUTHENTICATIONS_PER_MINUTE: '240',
}

/** The user's variables win over the defaults, but not over addresses and secrets that the other processes share. */
export function serviceEnvironment(home: Home, ports: Ports, secrets: Secrets, at: Addresses): NodeJS.ProcessEnv {
  const { graders } = readRecord()
  return {
    ...serviceDefaults,
    ...(graders && { ANNEAL_GRADER_PYTHON: graders.binary }),
    ...environment(),
    DATABASE_URL: at.databaseUrl,
    // Of another installation, which the user's shell may speak of.
    ANNEAL_DATABASE_SESSION_URL: undefined,
    TEMPORAL_ADDRESS: at.temporalAddress,
    TEMPORAL_NAMESPACE: 'default',
    TEMPORAL_UI_URL: at.temporalUiUrl,
    S3_ENDPOINT: at.s3Endpoint,
    S3_REGION: region,
    S3_BUCKET: bucket,
    S3_ACCESS_KEY: secrets.s3AccessKey,
    S3_SECRET_KEY: secrets.s3SecretKey,
    ANNEAL_PORT: String(ports.api),
    ANNEAL_INTERNAL_PORT: String(ports.internal),
    ANNEAL_INTERNAL_URL: at.internalUrl,
    ANNEAL_ADMIN_PORT: String(ports.admin),
    ANNEAL_SECRET: secrets.signingSecret,
    ANNEAL_BOOTSTRAP_API_KEY: secrets.apiKey,
    ANNEAL_HOME: home.dir,
    ANNEAL_PYTHON: toolPath('python'),
    ANNEAL_PYTHONPATH: runtimeDir,
  }
}

/** The user's environment without npm's additions. */
export function environment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)))
}
