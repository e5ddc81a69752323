// The real edges over loopback; below them a database and stores that hold only what a test puts there.
import { createActivity } from '../../src/services/activity.ts'
import { request, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'
import { callableAddresses } from '../../src/domain/callable-addresses.ts'
import { parseCatalogue } from '../../src/domain/catalogue.ts'
import { makeApiKey, parseApiKey } from '../../src/domain/identifiers.ts'
import { scopes } from '../../src/domain/scopes.ts'
import { documentedDefaults } from '../../src/domain/training-args.ts'
import { createPublicApp } from '../../src/http/app.ts'
import { createBodyMemory } from '../../src/http/edge/body-memory.ts'
import { withEncodedModel } from '../../src/http/openai/routes.ts'
import { createMetrics } from '../../src/http/kit/metrics.ts'
import { closeGracefully, listen } from '../../src/http/kit/server.ts'
import { createAdminApp } from '../../src/internal-http/admin-app.ts'
import { createInternalApp } from '../../src/internal-http/app.ts'
import type { CompletionRequest } from '../../src/inference/request.ts'
import { createLog } from '../../src/log.ts'
import { createGrading } from '../../src/grading/grading-threads.ts'
import { createEvaluationScores } from '../../src/services/training-jobs/score-evaluation.ts'
import { createBatchBeginnings } from '../../src/services/batches/beginnings.ts'
import type { ServiceDependencies } from '../../src/services/context.ts'
import type { TrainingJob } from '../../src/domain/training-job.ts'
import type { JobDetails } from '../../src/repositories/job-details.ts'
import { createContract } from '../support/contract.ts'

export const accountId = '11111111-1111-4111-8111-111111111111'
export const apiKey = makeApiKey()
const { id: keyId, secretHash } = parseApiKey(apiKey) ?? { id: '', secretHash: Buffer.alloc(0) }

/** Keeps a test that runs over a full minute from recording a use. */
export const usedLater = new Date(Date.now() + 24 * 3_600_000)

/** The record of `apiKey`, with all scopes. */
export const liveKey = () =>
  Promise.resolve({ id: keyId, accountId, secretHash, scopes, lastUsedAt: usedLater, person: null })

const bodyMemoryBytes = 512 * 1024 * 1024

type Stub = Record<string, unknown>

/** Stands in for Postgres and the stores. A dependency that the test did not provide throws an error with its name. */
function stubDependencies({
  database = {},
  storage = {},
  inference = {},
  datasets = {},
  limits = {},
  settings = {},
  grading: options = {},
  catalogue,
  signIn,
}: Record<string, Stub> = {}) {
  const repositories: Stub = strict('database', {
    accounts: {
      find: (id: string) => Promise.resolve({ id, name: 'ours' }),
      findLiveApiKey: (id: string) => (id === keyId ? liveKey() : Promise.resolve(null)),
      hold: () => Promise.resolve(),
      // Also when the tests run over a full minute.
      noteKeyUse: () => Promise.resolve(),
      hasOpenJobs: () => Promise.resolve(false),
      storedBytes: () => Promise.resolve(0),
      rolloutBytes: () => Promise.resolve(0),
      rowBytes: () => Promise.resolve(0),
    },
    // Nothing is kept for retrieval.
    storedRows: { exists: () => Promise.resolve(false) },
    auditEvents: { add: () => Promise.resolve() },
    jobDetails: {
      describe: (_account: string, ids: number[]) => Promise.resolve(ids.map((id) => jobDetails({ id }))),
      waiting: () => Promise.resolve([]),
    },
    transaction: (work: (tx: Stub) => unknown) => work(repositories),
    ...database,
  })
  const grading = createGrading(options)
  return {
    database: repositories,
    storage: strict('storage', storage),
    datasets: strict('datasets', datasets),
    inference: strict('inference', inference),
    batchBeginnings: createBatchBeginnings(),
    grading,
    evaluationScores: createEvaluationScores({
      grading,
      embed: () => Promise.reject(new Error('embed is not stubbed')),
      models: { keepScores: () => Promise.resolve() },
      askOf: () => () => Promise.reject(new Error('no model judges here')),
      artifacts: { keepEvaluationScores: () => Promise.resolve() },
    }),
    jobFeeds: strict('jobFeeds', {}),
    hasRows: () => Promise.resolve(false),
    activity: createActivity(),
    searchRows: () => Promise.reject(new Error('searchRows is not stubbed')),
    usage: { add: () => undefined },
    notifications: strict('notifications', {}),
    catalogue:
      catalogue ??
      parseCatalogue({
        models: [
          {
            name: 'tiny',
            aliases: ['small'],
            task: 'completion',
            engine: 'transformers',
            source: { path: 'tiny' },
            contextLength: 1024,
            recommendedArgs: { learning_rate: documentedDefaults.learning_rate },
          },
          { name: 'mini', task: 'embedding', engine: 'embedder', source: { package: 'mini' }, contextLength: 256 },
        ],
      }),
    limits: { beginRequest: () => () => undefined, countFailedAuthentication: () => Promise.resolve(), ...limits },
    settings: {
      secret: 's'.repeat(32),
      resumeLimit: 1000,
      maxGpus: 8,
      maxNodes: 1,
      maxOpenJobs: 1000,
      maxStoredBytes: 1e12,
      maxRowBytes: 1e10,
      maxRolloutBytes: 1e10,
      maxOpenBatches: 1000,
      maxWaitingBatchItems: 200_000,
      maxOpenEvaluations: 100,
      maxWaitingEvaluationAnswers: 100_000,
      maxOpenExports: 8,
      maxStoredRows: 500_000,
      maxLiveKeys: 100,
      madeKeysEndWith: 'maker',
      personKeyDays: 90,
      prices: null,
      release: '1.2.3',
      temporalWorkflowsUrl: null,
      webhooks: { allowsHttp: false, isCallable: callableAddresses() },
      ...settings,
    },
    signIn: signIn ?? null,
    log: createLog('test', 'silent'),
  } as unknown as ServiceDependencies
}

function strict(name: string, stub: Stub): Stub {
  return new Proxy(stub, {
    get(target, key) {
      if (typeof key === 'string' && !(key in target) && key !== 'then')
        throw new Error(`${name}.${key} is not stubbed`)
      return target[key as string]
    },
  })
}

/** The conversation of a request to a model. */
export function messagesOf(request: CompletionRequest | undefined) {
  if (request?.input.kind !== 'chat') throw new Error('no conversation was asked')
  return request.input.chats[0]?.messages ?? []
}

/** Closed after the tests of the file. */
export async function startPublic(
  stubs: Record<string, Stub> = {},
  options: {
    serviceName?: string
    trustedProxies?: readonly string[]
    corsOrigins?: readonly string[]
    consoleDir?: string
    bodyMemoryBytes?: number
  } = {},
) {
  const app = createPublicApp({
    deps: stubDependencies(stubs),
    serviceName: options.serviceName ?? 'lamini',
    trustedProxies: options.trustedProxies ?? [],
    corsOrigins: options.corsOrigins ?? [],
    ...(options.consoleDir === undefined ? {} : { consoleDir: options.consoleDir }),
    version: '0.1.0',
    metrics: createMetrics(),
    bodyMemory: createBodyMemory(options.bodyMemoryBytes ?? bodyMemoryBytes),
  })
  const edge = start(await listen(app, { host: '127.0.0.1', port: 0 }))
  const { json: document } = await edge.call('GET', '/openapi.json', { key: null })
  const check = createContract(document)
  return {
    ...edge,
    /** Every JSON answer is held against the document. */
    call: async (method: string, path: string, sent: Sent = {}) => {
      const received = await edge.call(method, path, sent)
      const { status, headers, json } = received
      const contentType = headers['content-type'] ?? ''
      if (json !== undefined) check({ method, path: documented(path), status, contentType, body: json })
      return received
    },
  }
}

/** The document names aliases of whole groups of routes only by their first name. */
const documented = (path: string) =>
  withEncodedModel(path.replace(/^\/inf\//, '/openai/v1/')).replace(/^\/v1\/(lamini|svc)\/train/, '/v1/train')

export const startInternal = async (stubs: Record<string, Stub> = {}) => startApp(createInternalApp(appOptions(stubs)))

/** The internal and the admin edge of one process. */
export async function startPrivate(stubs: Record<string, Stub> = {}) {
  const options = appOptions(stubs)
  return { internal: await startApp(createInternalApp(options)), admin: await startApp(createAdminApp(options)) }
}

const appOptions = (stubs: Record<string, Stub>) => ({
  deps: stubDependencies(stubs),
  metrics: createMetrics(),
  bodyMemory: createBodyMemory(bodyMemoryBytes),
})

const startApp = async (app: RequestListener) => start(await listen(app, { host: '127.0.0.1', port: 0 }))

function start(server: Server) {
  after(() => closeGracefully([server], 0))
  const { port } = server.address() as AddressInfo
  return { server, port, call: (method: string, path: string, sent: Sent = {}) => call(port, method, path, sent) }
}

export type Sent = {
  headers?: Record<string, string | string[]>
  /** The caller's key; null sends none. */
  key?: string | null
  json?: unknown
  body?: string | Buffer
}

export type Received = { status: number; headers: IncomingHttpHeaders; text: string; json: Json }

/** A test says what it expects of an answer; the compiler cannot. */
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any

/** Sends exactly these bytes and headers, as no higher client would. */
export function call(port: number, method: string, path: string, { headers = {}, key = apiKey, json, body }: Sent) {
  const bytes = json === undefined ? body : JSON.stringify(json)
  return new Promise<Received>((resolve, reject) => {
    const outgoing = request({
      port,
      method,
      path,
      agent: false,
      headers: {
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
        ...(bytes === undefined || headers['transfer-encoding']
          ? {}
          : { 'content-length': String(Buffer.byteLength(bytes)) }),
        ...headers,
      },
    })
    outgoing.on('error', reject)
    outgoing.on('response', (incoming) => {
      let text = ''
      incoming.setEncoding('utf8').on('error', reject)
      incoming.on('data', (chunk: string) => (text += chunk))
      incoming.on('end', () =>
        resolve({
          status: incoming.statusCode ?? 0,
          headers: incoming.headers,
          text,
          json: /json/.test(incoming.headers['content-type'] ?? '') && text ? JSON.parse(text) : undefined,
        }),
      )
    })
    outgoing.end(bytes)
  })
}

export const trainingJob = (changes: Partial<TrainingJob> = {}): TrainingJob => ({
  id: 7,
  accountId,
  datasetId: 'questions',
  datasetVersionId: '22222222-2222-4222-8222-222222222222',
  baseModel: 'tiny',
  customModelName: null,
  isPublic: false,
  status: 'TRAINING MODEL',
  statusReason: null,
  statusMessage: null,
  spec: {} as TrainingJob['spec'],
  specHash: '0'.repeat(64),
  preparedData: null,
  generation: 1,
  currentAttempt: 1,
  resumeCount: 2,
  resumeLimit: 1000,
  cancelRequestedAt: null,
  pauseRequestedAt: null,
  modelName: null,
  createdAt: new Date('2026-11-20T10:00:00.123Z'),
  finishedAt: null,
  ...changes,
})

/** Of a job without a name: "questions, run 2". */
export const names = {
  jobId: 7,
  customModelName: null,
  modelVersion: null,
  datasetId: 'questions',
  fileName: null,
  datasetRun: 2,
}

export const jobDetails = (changes: Partial<JobDetails> = {}): JobDetails => ({
  id: 7,
  ...names,
  baseModel: 'tiny',
  status: 'TRAINING MODEL',
  statusReason: null,
  statusMessage: null,
  createdAt: new Date('2026-11-20T10:00:00.123Z'),
  finishedAt: null,
  gpus: null,
  nodes: 1,
  args: documentedDefaults,
  givenArgs: [],
  method: null,
  metadata: null,
  trackers: null,
  modelGpus: 0,
  attemptCount: 1,
  trainingSeconds: 0,
  sender: { keyId: 'key-of-ann', name: 'Ann Lee', person: { subject: 'ann', mail: 'ann@example.com' } },
  startedAt: null,
  trainRows: null,
  checkedRows: null,
  sources: null,
  preparedSources: null,
  skipsBadRows: false,
  skippedRows: null,
  truncatedRows: null,
  rowCounts: null,
  estimatedTokens: null,
  newestAttempt: null,
  lastStep: null,
  ...changes,
})
