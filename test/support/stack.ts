// The running stack of `test/run.ts`, seen from outside.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeApiKey, parseApiKey } from '../../src/domain/identifiers.ts'
import type { Connection } from '../../src/embedded/connection.ts'
import { connectDatabase } from '../../src/repositories/database.ts'
import { createContract } from './contract.ts'
import { eventually, patienceMs } from './eventually.ts'

export const homeDir =
  process.env['ANNEAL_TEST_HOME'] ?? assert.fail('run the tests with npm test: they need its stack')

export const connection = (): Connection =>
  JSON.parse(readFileSync(join(homeDir, 'connection.json'), 'utf8')) as Connection
export const runFolder = (name: string) => join(homeDir, 'runs', name)

type Step = {
  step: number
  loss: number
  learning_rate: number
  epoch: number
  iter_time: number
  flops: number
  remaining_time: number
}
export type Job = {
  job_id: number
  status: string
  start_time: string
  model_name: string | null
  custom_model_name: string | null
  status_reason: string | null
  status_message: string | null
  resume_count: number
  resume_limit: number
  dataset_id: string
  is_public: boolean
  history: string
}
type Interval = { mean: number; low: number; high: number }
type ByGrader<T> = Record<string, Record<string, T>>
type Evaluation = {
  status: string
  message: string | null
  rows: number | null
  summary: ByGrader<Interval & { rows: number }> | null
  comparison: ByGrader<{ difference: Interval; better: number; equal: number; worse: number }> | null
  finished_at: string | null
}
type Answer<T> = { status: number; body: T; headers: Headers }

/** Every answer to a test is held against the document that the service publishes. */
let published: ReturnType<typeof readContract> | undefined
const contract = (stack: Connection) => (published ??= readContract(stack))

async function readContract({ apiUrl }: Connection) {
  const response = await fetch(`${apiUrl}/openapi.json`)
  return createContract(await response.json())
}

export type Api = Awaited<ReturnType<typeof openAccount>>

/** An account of its own with its first key. */
export async function openAccount(stack: () => Connection = connection) {
  const apiKey = makeApiKey()
  const parsed = parseApiKey(apiKey)
  assert.ok(parsed)
  // A suite before this one may have killed the api, which is then just coming back.
  await eventually(() =>
    fetch(`${stack().apiUrl}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    ),
  )
  const database = connectDatabase(stack().databaseUrl, { poolSize: 1 })
  await database.accounts.ensureWithApiKey({ name: 'test', keyId: parsed.id, secretHash: parsed.secretHash })
  await database.close()
  return createApi(apiKey, stack)
}

function isJsonText(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'object'
  } catch {
    return false
  }
}

/** An empty key is not sent. */
export function createApi(apiKey: string, stack: () => Connection = connection) {
  async function request<T>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer<T>> {
    const response = await fetch(stack().apiUrl + path, {
      method,
      headers: {
        ...(apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` }),
        ...(body === undefined || body instanceof FormData ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: body instanceof FormData ? body : JSON.stringify(body) }),
    })
    const contentType = response.headers.get('content-type') ?? ''
    const isText = contentType.startsWith('text/')
    // A file's bytes may be JSON or anything else.
    const isFile = contentType.startsWith('application/octet-stream')
    const text = await response.text()
    const isJson = !isText && (!isFile || isJsonText(text))
    const answer = (isJson ? JSON.parse(text) : text) as T
    ;(await contract(stack()))({ method, path, status: response.status, contentType, body: answer })
    return { status: response.status, body: answer, headers: response.headers }
  }

  async function ok<T>(method: string, path: string, body?: unknown): Promise<T> {
    const { status, body: answer } = await request<T>(method, path, body)
    assert.equal(status, 200, `${method} ${path} answered ${status}: ${JSON.stringify(answer)}`)
    return answer
  }

  const api = {
    apiKey,
    request,
    get: <T>(path: string) => ok<T>('GET', path),
    post: <T>(path: string, body?: unknown) => ok<T>('POST', path, body),
    job: (id: number) => ok<Job>('GET', `/v1/train/jobs/${id}`),
    history: async (id: number) => JSON.parse((await api.job(id)).history) as Step[],

    async upload(datasetId: string, file: string | Uint8Array<ArrayBuffer>): Promise<string> {
      const { dataset_location } = await api.post<{ dataset_location: string }>('/v1/data', { dataset_id: datasetId })
      const { status } = await fetch(dataset_location, { method: 'PUT', body: file })
      assert.equal(status, 200)
      return dataset_location
    },

    async train(body: Record<string, unknown>): Promise<number> {
      const { job_id } = await api.post<{ job_id: string }>('/v1/train', {
        model_name: stack().baseModel,
        ...body,
      })
      return Number(job_id)
    },

    /** Polls until the job is as wanted; fails at once when it has ended otherwise. */
    async until(id: number, wanted: (job: Job) => boolean, { everyMs = 150 } = {}): Promise<Job> {
      const ends = ['COMPLETED', 'PARTIALLY COMPLETED', 'CANCELLED', 'FAILED']
      let last: Job | null = null
      for (const deadline = Date.now() + patienceMs; Date.now() < deadline; await sleep(everyMs)) {
        const answer = await request<Job>('GET', `/v1/train/jobs/${id}`).catch((error: unknown) => {
          // The api may be restarting.
          if (error instanceof assert.AssertionError) throw error
          return null
        })
        // Its database may not be reached for a while, by fault or on a machine that is too busy.
        const job = answer && answer.status !== 503 ? answer.body : null
        assert(!answer || [200, 503].includes(answer.status), `job ${id} is answered by ${answer?.status}`)
        if (job && wanted(job)) return job
        if (job && ends.includes(job.status)) assert.fail(`job ${id} ended as ${job.status}: ${job.status_message}`)
        last = job
      }
      const found = last ? `is ${last.status}: ${last.status_message}` : 'cannot be asked for'
      return assert.fail(`job ${id} did not get there in ${patienceMs / 1000} s, it ${found}`)
    },

    /** Waits for the end of an evaluation, through restarts of the api. */
    untilEvaluated: (id: string) =>
      eventually(async () => {
        const evaluation = await api.get<Evaluation>(`/v1/evaluations/${id}`).catch(() => null)
        return evaluation?.finished_at ? evaluation : null
      }),

    untilStatus: (id: number, ...statuses: string[]) => api.until(id, ({ status }) => statuses.includes(status)),
  }
  return api
}
